# What the scripts of a release and of CI need, installed from package registries. Sourced by them.
# shellcheck shell=bash

# Without links, as compilers name it.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
tools=${KUBECTL_STORAGE_RELEASE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-storage-release}

targets=(
  x86_64-unknown-linux-musl
  aarch64-unknown-linux-musl
  x86_64-apple-darwin
  aarch64-apple-darwin
  x86_64-pc-windows-gnu
)

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; }

# Whether a target is one of ours.
known() {
  [[ -n $1 ]] || die "which target? One of: ${targets[*]}"
  [[ " ${targets[*]} " == *" $1 "* ]] || die "no target is called '$1': ${targets[*]}"
}

as_root() { if ((EUID)); then sudo -n "$@"; else "$@"; fi; }

# debian PROGRAM PACKAGE: installs a package of Debian or Ubuntu unless its program is there.
debian() {
  ! command -v "$1" > /dev/null || return 0
  command -v apt-get > /dev/null || die "'$1' is needed and was not found"
  { as_root apt-get update --quiet && as_root apt-get install --quiet --yes --no-install-recommends "$2"; } >&2
}

# Puts zig, a C compiler and linker for other systems, and cargo-zigbuild into PATH, as requirements.txt pins them.
zig() {
  local requirements=$here/release/requirements.txt folder temporary
  folder=$tools/zig-$(sha256sum "$requirements" | cut -c1-12)
  if [[ ! -d $folder ]]; then
    mkdir -p "$tools"
    temporary=$(mktemp -d "$tools/.zig.XXXXXX")
    python3 -m pip install --quiet --no-deps --require-hashes --target "$temporary" --requirement "$requirements"
    mv -T "$temporary" "$folder" 2> /dev/null || rm -rf "$temporary"
    [[ -d $folder ]] || die "zig could not be put into $folder" # unless another build was first
  fi
  PATH=$folder/bin:$folder/ziglang:$PATH
}

# Puts a program from crates.io into PATH. Unoptimised: it runs for seconds, and would otherwise compile for minutes.
from_crates() { # CRATE VERSION ARGUMENTS_OF_CARGO_INSTALL…
  local crate=$1 version=$2 folder=$tools/$1-$2
  shift 2
  [[ -x $folder/bin/$crate ]] ||
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
      cargo install --quiet --locked --root "$folder" --version "$version" "$@" "$crate" >&2
  PATH=$folder/bin:$PATH
}
