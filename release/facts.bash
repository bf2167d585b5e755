# What the scripts of a release agree on: version, time, targets, and what files are called. Sourced by each of them.
#
# RELEASE_OUT                     where everything is made (default: target/release-out)
# KUBECTL_STORAGE_RELEASE_TOOLS   where tools are installed (default: ~/.cache/kubectl-storage-release)
# SOURCE_DATE_EPOCH               the time that files in archives get (default: that of the commit)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${RELEASE_OUT:-$root/target/release-out}

die() { echo "release/${0##*/}: $*" >&2; exit 1; }

package() { sed -n '/^\[package\]/,/^\[\[/s/^'"$1"' = "\([^"]*\)".*/\1/p' "$root/Cargo.toml"; }
version=v$(package version)
repository=$(package repository)

if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct) || die "not a git repository: set SOURCE_DATE_EPOCH"
fi
export SOURCE_DATE_EPOCH

# What is published.
targets=()
while IFS= read -r target; do targets+=("$target"); done < <("$root/release/build" --list) # macOS has an old bash: no mapfile
unset target

# Puts a tool into PATH that a release is made with and the crate itself does not depend on.
use() { # CRATE VERSION
  local folder=${KUBECTL_STORAGE_RELEASE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-storage-release}/$1-$2
  # It runs for seconds: optimised, it would compile for longer than it saves.
  [[ -x $folder/bin/$1 ]] ||
    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
      cargo install --quiet --locked --root "$folder" --version "$2" "$1" >&2
  PATH=$folder/bin:$PATH
}

# What the operating system and the processor of a target are called by Go, and so by krew and by image registries.
platform_of() {
  local os arch
  case $1 in
    *-linux-*) os=linux ;;
    *-apple-darwin) os=darwin ;;
    *-pc-windows-*) os=windows ;;
    *) die "no archives are made for target '$1'" ;;
  esac
  case $1 in
    x86_64-*) arch=amd64 ;;
    aarch64-*) arch=arm64 ;;
    *) die "no archives are made for target '$1'" ;;
  esac
  echo "${os}_$arch"
}

# What release/build makes is called.
binary_of() {
  case $1 in *-windows-*) echo kubectl-storage.exe ;; *) echo kubectl-storage ;; esac
}

archive_of() {
  local platform ending
  platform=$(platform_of "$1") || return
  case $platform in windows_*) ending=zip ;; *) ending=tar.gz ;; esac
  echo "kubectl-storage_${version}_$platform.$ending"
}
