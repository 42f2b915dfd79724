#!/usr/bin/no-such-shell -e
