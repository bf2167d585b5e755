//! The `kubectl-storage` binary, which only calls [`kubectl_storage::cli`].

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    kubectl_storage::cli::main()
}
