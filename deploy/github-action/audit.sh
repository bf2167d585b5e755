#!/usr/bin/env bash
# Runs the audit of the action, and writes what other steps take: a SARIF file, and the summary of the job.
#
# What the action is given arrives in the environment, never in a command: no input can become one.
#
#   FILENAME           dumps, one a line
#   KUBECONFIG_PATH    the kubeconfig of the cluster that is audited without a dump; one of the two has to be set
#   FAIL_ON            the severity at which the step fails; empty: it does not fail because of findings
#   ARGUMENTS          more arguments of `kubectl storage audit`, one a line
#   VERSION            the release that is downloaded where no kubectl-storage is on PATH
#   GITHUB_OUTPUT, GITHUB_STEP_SUMMARY, RUNNER_TEMP    as a runner sets them
set -euo pipefail

repository=kubectl-storage/kubectl-storage

# Ends the step because of how it is set up.
refuse() { # REASON
  echo "exit-code=2" >>"$GITHUB_OUTPUT"
  echo "$1" >&2
  exit 2
}

# Downloads a release for this machine, verifies which workflow built it from which tag, and puts it on PATH.
install() { # FOLDER
  local system machine archive by_hand="install kubectl-storage in a step before this one"
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) refuse "no release for $(uname -s) is downloaded here: $by_hand" ;;
  esac
  case $(uname -m) in
    x86_64) machine=amd64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) refuse "no release for $(uname -m): $by_hand" ;;
  esac
  command -v gh >/dev/null || refuse "gh is not on PATH, which downloads and verifies the release: install it, or $by_hand"
  archive=kubectl-storage_v${VERSION}_${system}_$machine.tar.gz
  gh release download "v$VERSION" --repo "$repository" --pattern "$archive" --dir "$1"
  gh attestation verify "$1/$archive" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yaml" --source-ref "refs/tags/v$VERSION"
  tar -xzf "$1/$archive" -C "$1"
  PATH=$1:$PATH
}

main() {
  local results line token code=0
  local arguments=(audit)
  while IFS= read -r line; do
    [[ -z $line ]] || arguments+=(--filename "$line")
  done <<<"${FILENAME:-}"
  # The kubeconfig that a runner happens to have may be of any cluster.
  if ((${#arguments[@]} == 1)) && [[ -z ${KUBECONFIG_PATH:-} ]]; then
    refuse "set filename to a dump, or kubeconfig to the path of a kubeconfig: neither is set"
  fi
  [[ -z ${KUBECONFIG_PATH:-} ]] || export KUBECONFIG=$KUBECONFIG_PATH
  [[ -z ${FAIL_ON:-} ]] || arguments+=(--fail-on "$FAIL_ON")
  while IFS= read -r line; do
    [[ -z $line ]] || arguments+=("$line")
  done <<<"${ARGUMENTS:-}"
  results=$(mktemp -d "$RUNNER_TEMP/kubectl-storage.XXXXXX")
  if ! command -v kubectl-storage >/dev/null; then
    install "$results" # not after ||, where a step that fails would not end it
  fi
  # A runner takes lines such as ::error:: for commands, and names of a dump may be anything. It takes none until it
  # reads the token; stderr goes the same way, so that no line of it comes before or after.
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$token"
  kubectl-storage "${arguments[@]}" -o "sarif=$results/storage.sarif" -o "markdown=$results/storage.md" 2>&1 || code=$?
  printf '\n::%s::\n' "$token"
  echo "exit-code=$code" >>"$GITHUB_OUTPUT"
  # They are there if there is a report: also when findings, or what could not be read, fail the step.
  if [[ -e $results/storage.sarif && -e $results/storage.md ]]; then
    printf '%s\n' "sarif=$results/storage.sarif" "markdown=$results/storage.md" >>"$GITHUB_OUTPUT"
    cat "$results/storage.md" >>"$GITHUB_STEP_SUMMARY"
  fi
  exit "$code"
}

main
