#!/usr/bin/env no-such-language
