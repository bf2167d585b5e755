# Written by release/manifest; the project's tap holds it as Formula/kubectl-storage.rb.
class KubectlStorage < Formula
  desc "@DESCRIPTION@"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@URL@/kubectl-storage_@TAG@_darwin_arm64.tar.gz"
      sha256 "@SHA256_darwin_arm64@"
    end
    on_intel do
      url "@URL@/kubectl-storage_@TAG@_darwin_amd64.tar.gz"
      sha256 "@SHA256_darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/kubectl-storage_@TAG@_linux_arm64.tar.gz"
      sha256 "@SHA256_linux_arm64@"
    end
    on_intel do
      url "@URL@/kubectl-storage_@TAG@_linux_amd64.tar.gz"
      sha256 "@SHA256_linux_amd64@"
    end
  end

  def install
    bin.install "kubectl-storage"
    # What kubectl runs to complete `kubectl storage`.
    bin.install_symlink bin/"kubectl-storage" => "kubectl_complete-storage"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kubectl-storage.bash" => "kubectl-storage"
    fish_completion.install "completions/kubectl-storage.fish"
    zsh_completion.install "completions/_kubectl-storage"
    pkgshare.install "licenses"
  end

  test do
    assert_match "v#{version}", shell_output("#{bin}/kubectl-storage version")
  end
end
