#include "control/paths.h"
