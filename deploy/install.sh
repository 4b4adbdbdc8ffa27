#!/bin/sh
# Makes an environment with Mentis in it from a folder of wheels, without a network:
#   sh deploy/install.sh WHEELS LOCK TARGET
set -eu
wheels=$1 lock=$2 target=$3
"${PYTHON:-python3}" -m venv "$target"
pip() { "$target/bin/python" -m pip --disable-pip-version-check --quiet --no-cache-dir "$@"; }
pip install --no-index --find-links "$wheels" --no-deps --require-hashes -r "$lock"
pip install --no-index --no-deps "$wheels"/mentis-*.whl
"$target/bin/mentis" --version
