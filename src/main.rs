//! The `kubectl-storage` binary: a thin door to [`kubectl_storage::cli`].
fn main() {}
