# shellcheck shell=bash disable=SC2016,SC2154,SC2164
# Shell functions that ./run, ./check and .ci/run share: install what is missing, configure, build. Sourced with bash;
# `root` is the folder of the repository. Progress goes to stderr, the output of tools to log files.

say() { printf '%s\n' "$*" >&2; }

# quietly LOG WHAT COMMAND...   one line while COMMAND runs; its output goes to LOG, whose end is shown on failure
quietly() {
  local log=$1 what=$2 begin=$SECONDS
  shift 2
  printf '%s ... ' "$what" >&2
  if "$@" >>"$log" 2>&1 </dev/null; then
    say "done ($((SECONDS - begin)) s)"
  else
    say "failed"
    tail -n 40 "$log" >&2
    say "The whole output is in $log"
    return 1
  fi
}

# lock NAME   waits until no other run or check holds NAME; held until unlock or the end of the script
lock() {
  mkdir -p "$root/build"
  exec 9>"$root/build/$1.lock"
  flock -n 9 || { say "Waiting for another run or check of this folder ..."; flock 9; }
}
unlock() { exec 9>&-; }

packages_in() { sed 's/#.*//' "$@" | tr -s ' \n' '\n' | sed '/^$/d'; }

missing_packages() {  # of the lists given
  local installed
  installed=$(packages_in "$@" | xargs dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null || true)
  packages_in "$@" | while read -r package; do
    grep -qxF "$package installed" <<<"$installed" || printf '%s\n' "$package"
  done
}

apt_install() {  # packages; one at a time on this machine
  (
    flock 8
    "${as_root[@]}" apt-get update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@"
  ) 8>"${TMPDIR:-/tmp}/slipstream-install.$UID.lock"
}

# install_missing LOG LIST...   does nothing, and needs no network, where every package of the lists is there
install_missing() {
  local log=$1 missing as_root=()
  shift
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian system: please see that it has what these Debian packages provide: $(packages_in "$@" | xargs)"
    return 0
  fi
  missing=$(missing_packages "$@" | xargs)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || ! { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      say "Some Debian packages are missing and installing them needs root: apt-get install $missing"
      return 1
    fi
    sudo -v || return 1
    as_root=(sudo)
  fi
  # shellcheck disable=SC2086  # a list of words
  quietly "$log" "Installing $missing" apt_install $missing
}

# Compile jobs that fit this machine: one a core, and about 1.5 GB of memory for each.
build_jobs() {
  local cores memory_kb limit jobs
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ] && [ $((limit / 1024)) -lt "$memory_kb" ]; then memory_kb=$((limit / 1024)); fi
  jobs=$((memory_kb / 1500000))
  if [ "$jobs" -gt "$cores" ]; then jobs=$cores; fi
  if [ "$jobs" -lt 1 ]; then jobs=1; fi
  echo "$jobs"
}

configure_and_build() {  # PRESET [cmake options]
  local preset=$1
  shift
  cd "$root"
  cmake --preset "$preset" "$@"
  cmake --build --preset "$preset" -j "$(build_jobs)"
}

# build LOG PRESET [cmake options]
build() {
  local log=$1
  shift
  quietly "$log" "Building ($1)" bash -c 'set -euo pipefail; . "$root/tools/build.sh"; configure_and_build "$@"' build "$@"
}

# run_tests PRESET   prints "N passed, N failed"; the tests themselves, failures with their output, go to stderr
run_tests() {
  local folder=$root/build/$1 begin=$SECONDS
  rm -f "$folder/tests.xml"
  say "Testing ($1) ..."
  # Passed tests are counted, not listed.
  (cd "$root" && ctest --preset "$1" -j2 --output-on-failure --output-junit "$folder/tests.xml" </dev/null 2>&1) |
    sed -E '/^ +Start +[0-9]+: |^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* Passed /d' >&2 || true
  say "Testing took $((SECONDS - begin)) s"
  python3 "$root/tools/count_tests.py" "$folder/tests.xml"
}
