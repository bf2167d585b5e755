# What the scripts that pack a release agree on: version, time, and what files are called. Sourced by each of them.
#
# RELEASE_OUT         where everything is packed (default: target/release-out)
# SOURCE_DATE_EPOCH   the time that files in archives get (default: that of the commit)
# shellcheck shell=bash
set -euo pipefail

# shellcheck source=tools.bash
source "$(dirname "${BASH_SOURCE[0]}")/tools.bash"
root=$here
out=${RELEASE_OUT:-$root/target/release-out}
[[ $out == /* ]] || out=$PWD/$out

package() { sed -n '/^\[package\]/,/^\[\[/s/^'"$1"' = "\([^"]*\)".*/\1/p' "$root/Cargo.toml"; }
version=v$(package version)
repository=$(package repository)

if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct) || die "not a git repository: set SOURCE_DATE_EPOCH"
fi

# What the plugin is called in krew, and its manifest after it.
plugin() { sed -n '/^metadata:/,/^spec:/s/^  name: //p' "$root/.krew.yaml"; }

# What the operating system and the processor of a target are called by Go, and so by krew and by image registries.
platform_of() {
  local os arch
  known "$1"
  case $1 in *-linux-*) os=linux ;; *-apple-darwin) os=darwin ;; *-pc-windows-*) os=windows ;; esac
  case $1 in x86_64-*) arch=amd64 ;; aarch64-*) arch=arm64 ;; esac
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
