//! A bad line to the API server: all connections are cut, again and again.

use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::Cluster;

/// Passes on bytes to the API server; it ends when the test is done with it.
pub(super) struct Cutter {
    folder: tempfile::TempDir,
    line: Arc<Line>,
}

#[derive(Default)]
struct Line {
    open: Mutex<Vec<TcpStream>>,
    cuts: AtomicUsize,
    over: AtomicBool,
}

impl Cutter {
    /// Begins to pass on bytes, and cuts all connections after each such time.
    pub(super) fn start(cluster: &Cluster, every: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("because loopback has free ports");
        let own = listener.local_addr().expect("because it is bound");
        let folder = tempfile::tempdir().expect("because the temporary folder is writable");
        let kubeconfig = fs::read_to_string(cluster.kubeconfig()).expect("the testbed wrote it");
        let changed = kubeconfig.replace(cluster.server(), &format!("https://{own}"));
        assert_ne!(kubeconfig, changed, "it names the server");
        fs::write(folder.path().join("kubeconfig"), changed).expect("because it is writable");
        let server = cluster.server().trim_start_matches("https://").to_owned();
        let line = Arc::new(Line::default());
        let accepting = Arc::clone(&line);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.over.load(Ordering::Relaxed) {
                    return;
                }
                // A server that cannot be reached is one more cut.
                let _ = accepting.join(&client, &server);
            }
        });
        let cutting = Arc::clone(&line);
        thread::spawn(move || {
            while !cutting.over.load(Ordering::Relaxed) {
                thread::sleep(every);
                cutting.cut();
            }
        });
        Self { folder, line }
    }

    /// The kubeconfig of the administrator, by way of this.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        Path::new(self.folder.path()).join("kubeconfig")
    }

    /// How many connections were cut.
    pub(super) fn cuts(&self) -> usize {
        self.line.cuts.load(Ordering::Relaxed)
    }
}

impl Line {
    fn join(&self, client: &TcpStream, server: &str) -> io::Result<()> {
        let server = TcpStream::connect(server)?;
        for (from, to) in [(client, &server), (&server, client)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        self.open.lock().expect("nobody panics while holding it").push(client.try_clone()?);
        Ok(())
    }

    fn cut(&self) {
        for client in self.open.lock().expect("nobody panics while holding it").drain(..) {
            if client.shutdown(Shutdown::Both).is_ok() {
                self.cuts.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.line.over.store(true, Ordering::Relaxed);
    }
}
