# Sourced by the other rigs: where real editors are kept, and how one is set up once.
# For Linux alone: the rigs install programs and packages for Linux.

source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# Several checkouts can share one folder, and so the downloads.
rigs=${ULLAGE_RIGS:-$root/.rigs}

# need_apt COMMAND PACKAGE…: `need_debian`, unless the command exists already.
need_apt() {
  local command=$1
  shift
  command -v "$command" >/dev/null || need_debian "There is no $command" "$@"
}

# once STAMP WANT COMMAND…: runs the command unless it has succeeded before for the same WANT. By a lock, checkouts and
# test processes that share the folder take turns.
once() {
  local stamp=$1 want=$2
  shift 2
  mkdir -p "$(dirname "$stamp")"
  (
    flock 9
    [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && exit 0
    "$@" || exit 1
    printf '%s' "$want" >"$stamp"
  ) 9>"$stamp.lock"
}

# npm_install FOLDER WORD…: installs packages from npm into a folder of their own, with options of npm's before them.
npm_install() {
  cd "$1" || return 1
  shift
  echo '{"private": true}' >package.json
  need "npm: $*" npm install --no-audit --no-fund "$@"
}

# checksum PATH…: of these files, committed or not. A file that was deleted has no line in it.
checksum() {
  git -C "$root" ls-files -z --cached --others --exclude-standard "$@" |
    (cd "$root" && xargs -0 sha256sum 2>/dev/null || true) | sha256sum
}

# node_modules: installs the packages that build and check the extension, from its lock file.
node_modules() {
  once "$root/editors/vscode/node_modules/.ready" "$(sha256sum <"$root/editors/vscode/package-lock.json")" \
    need "npm: the extension's tools" npm --prefix "$root/editors/vscode" ci --no-audit --no-fund
}
