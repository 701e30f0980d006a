#!/bin/sh
# SWI-Prolog and GNU Prolog are the tests' oracles, Chromium shows the explorer's page. Install what
# is missing where that needs no question (root, apt-get); otherwise say what is missing: its tests
# are then skipped by name.

missing=""
command -v swipl >/dev/null 2>&1 || missing="swi-prolog-nox"
command -v gprolog >/dev/null 2>&1 || missing="$missing gprolog"
# SWI-Prolog's own unit tests.
[ -d /usr/lib/swi-prolog/test/Tests ] || missing="$missing swi-prolog-test"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing test tools:$(printf ' %s' $missing)"
    export DEBIAN_FRONTEND=noninteractive
    apt="timeout 300 apt-get -qq -o Acquire::Retries=1 -o DPkg::Lock::Timeout=60"
    for package in $missing; do
        $apt install -y --no-install-recommends "$package" >/dev/null 2>&1 && continue
        [ -n "$updated" ] || { updated=yes; $apt update >/dev/null 2>&1; }
        $apt install -y --no-install-recommends "$package" >/dev/null 2>&1
    done
fi

command -v swipl >/dev/null 2>&1 ||
    echo "swipl is missing (Debian: swi-prolog-nox): tests against SWI-Prolog will be skipped"
command -v gprolog >/dev/null 2>&1 ||
    echo "gprolog is missing (Debian: gprolog): tests against GNU Prolog will be skipped"
command -v chromium >/dev/null 2>&1 ||
    echo "chromium is missing (Debian: chromium): tests of the explorer's page will be skipped"
exit 0
