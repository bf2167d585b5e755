# What the scripts of a release agree on: version, time, targets, and what files are called. Sourced by each of them.
#
# RELEASE_OUT         where everything is made (default: target/release-out)
# SOURCE_DATE_EPOCH   the time that files in archives get (default: that of the commit)
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

# What is published, in the order in which krew's manifest lists it.
targets=(
  x86_64-unknown-linux-musl
  aarch64-unknown-linux-musl
  x86_64-apple-darwin
  aarch64-apple-darwin
  x86_64-pc-windows-gnu
)

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

binary_of() {
  case $1 in *-windows-*) echo kubectl-storage.exe ;; *) echo kubectl-storage ;; esac
}

archive_of() {
  local platform ending
  platform=$(platform_of "$1")
  case $platform in windows_*) ending=zip ;; *) ending=tar.gz ;; esac
  echo "kubectl-storage_${version}_$platform.$ending"
}
