#!/usr/bin/env bash
# Runs the audit of the action, and writes what other steps take: a SARIF file, and the summary of the job.
#
# What the action is given arrives in the environment, never in a command: no input can become one.
#
#   FILENAME     dumps, one a line; without any the cluster of KUBECONFIG is audited
#   FAIL_ON      the severity at which the step fails; empty: it does not fail because of findings
#   ARGUMENTS    more arguments of `kubectl storage audit`, one a line
#   VERSION      the release that is downloaded where no kubectl-storage is on PATH
#   GITHUB_OUTPUT, GITHUB_STEP_SUMMARY, RUNNER_TEMP    as a runner sets them
set -euo pipefail

repository=kubectl-storage/kubectl-storage

# Downloads a release for this machine, verifies who built it, and puts it on PATH.
install() { # FOLDER
  local system machine archive
  system=$(uname -s | tr '[:upper:]' '[:lower:]')
  case $(uname -m) in
    x86_64) machine=amd64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) echo "no release for $(uname -m): install kubectl-storage in a step before this one" >&2; return 1 ;;
  esac
  archive=kubectl-storage_v${VERSION}_${system}_$machine.tar.gz
  gh release download "v$VERSION" --repo "$repository" --pattern "$archive" --dir "$1"
  gh attestation verify "$1/$archive" --repo "$repository"
  tar -xzf "$1/$archive" -C "$1"
  PATH=$1:$PATH
}

main() {
  local results line code=0
  local arguments=(audit)
  results=$(mktemp -d "$RUNNER_TEMP/kubectl-storage.XXXXXX")
  if ! command -v kubectl-storage >/dev/null; then
    install "$results" # not after ||, where a step that fails would not end it
  fi
  while IFS= read -r line; do
    [[ -z $line ]] || arguments+=(--filename "$line")
  done <<<"${FILENAME:-}"
  [[ -z ${FAIL_ON:-} ]] || arguments+=(--fail-on "$FAIL_ON")
  while IFS= read -r line; do
    [[ -z $line ]] || arguments+=("$line")
  done <<<"${ARGUMENTS:-}"
  kubectl-storage "${arguments[@]}" -o "sarif=$results/storage.sarif" -o "markdown=$results/storage.md" || code=$?
  echo "exit-code=$code" >>"$GITHUB_OUTPUT"
  # They are there if there is a report: also when findings, or what could not be read, fail the step.
  if [[ -e $results/storage.sarif && -e $results/storage.md ]]; then
    printf '%s\n' "sarif=$results/storage.sarif" "markdown=$results/storage.md" >>"$GITHUB_OUTPUT"
    cat "$results/storage.md" >>"$GITHUB_STEP_SUMMARY"
  fi
  exit "$code"
}

main
