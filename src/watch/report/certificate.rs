//! The certificate of the metrics: that of a file, read again when it changes, or one of our own.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::watch::policy::report::TlsPolicy;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// A file cannot be read.
    #[error("failed to read {file}: {reason}")]
    File { file: String, reason: String },
    /// They do not fit together.
    #[error("the certificate cannot be used: {0}")]
    Unfit(#[from] rustls::Error),
    /// None could be made.
    #[error("no certificate could be made: {0}")]
    Unmade(#[from] rcgen::Error),
}

/// Where the certificate comes from.
pub(super) struct ServerCertificate {
    files: Option<TlsPolicy>,
    /// What was read of them last, be it in use or not; `None` while they cannot be read.
    current: Mutex<(Option<PemFiles>, Arc<ServerConfig>)>,
}

/// What the files of certificate and key hold.
type PemFiles = [Vec<u8>; 2];

impl ServerCertificate {
    /// Takes the certificate of these files; without files, makes one that nobody signed and that
    /// ends with this process.
    ///
    /// # Errors
    /// [`CertificateError`]
    pub(super) fn new(files: Option<&TlsPolicy>) -> Result<Self, CertificateError> {
        let (pem, config) = match files {
            Some(files) => {
                let pem = read(files)?;
                let config = parse(files, &pem)?;
                (Some(pem), config)
            }
            None => (None, own()?),
        };
        Ok(Self { files: files.cloned(), current: Mutex::new((pem, Arc::new(config))) })
    }

    /// What is in use. Files that hold something else are taken, whatever their time is; those that are
    /// broken or gone are told once, and what was in use stays.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files {
            let pem = read(files);
            if pem.as_ref().ok() != current.0.as_ref() {
                let parsed = pem.as_ref().map_err(ToString::to_string);
                let parsed = parsed.and_then(|it| parse(files, it).map_err(|it| it.to_string()));
                match parsed {
                    Ok(config) => current.1 = Arc::new(config),
                    Err(error) => tracing::warn!(%error, "the earlier certificate stays in use"),
                }
                current.0 = pem.ok();
            }
        }
        Arc::clone(&current.1)
    }
}

fn read(files: &TlsPolicy) -> Result<PemFiles, CertificateError> {
    let of = |file: &Path| std::fs::read(file).map_err(|error| failed(file, &error));
    Ok([of(&files.cert_file)?, of(&files.key_file)?])
}

fn parse(files: &TlsPolicy, [chain, key]: &PemFiles) -> Result<ServerConfig, CertificateError> {
    let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>();
    let chain = chain.map_err(|error| failed(&files.cert_file, &error))?;
    let key = PrivateKeyDer::from_pem_slice(key);
    config(chain, key.map_err(|error| failed(&files.key_file, &error))?)
}

fn failed(file: &Path, reason: &dyn std::fmt::Display) -> CertificateError {
    CertificateError::File { file: file.display().to_string(), reason: reason.to_string() }
}

fn own() -> Result<ServerConfig, CertificateError> {
    let names = vec!["localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    config(vec![made.cert.der().clone()], key.into())
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, CertificateError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_no_client_auth().with_single_cert(chain, key)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustls::pki_types::ServerName;
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;
    use crate::watch::report::test_authority::TestAuthority;

    /// Whether whoever trusts an authority is served.
    async fn is_served(certificate: &ServerCertificate, authority: &TestAuthority) -> bool {
        let (client, server) = tokio::io::duplex(1 << 16);
        let acceptor = TlsAcceptor::from(certificate.current());
        let serving = tokio::spawn(async move { acceptor.accept(server).await.map(drop) });
        let name = ServerName::try_from("localhost").expect("because it is a name");
        let connector = TlsConnector::from(Arc::new(authority.trusted()));
        let is_served = connector.connect(name, client).await.is_ok();
        let _ = serving.await;
        is_served
    }

    #[tokio::test]
    async fn a_secret_that_is_replaced_is_taken_and_a_broken_one_is_not() {
        let authorities = ["one", "two", "three"].map(TestAuthority::new);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        // As a kubelet does (`atomic_writer.go`): the files are links into a folder that is replaced.
        let replace = |generation: &str, [chain, key]: [&str; 2]| {
            std::fs::create_dir(at(generation)).expect("a folder");
            std::fs::write(at(generation).join("tls.crt"), chain).expect("a file");
            std::fs::write(at(generation).join("tls.key"), key).expect("a file");
            symlink(generation, at("..data_tmp")).expect("a link");
            std::fs::rename(at("..data_tmp"), at("..data")).expect("it is replaced");
        };
        let pem: Vec<_> = authorities.iter().map(|it| it.sign("localhost", false).pem()).collect();
        let both = |number: usize| [&*pem[number][0], &*pem[number][1]];
        replace("..1", both(0));
        for name in ["tls.crt", "tls.key"] {
            symlink(format!("..data/{name}"), at(name)).expect("a link");
        }
        let files = TlsPolicy { cert_file: at("tls.crt"), key_file: at("tls.key") };
        let certificate = ServerCertificate::new(Some(&files)).expect("because it is one");
        let served = async || {
            let mut served = Vec::new();
            for (number, authority) in authorities.iter().enumerate() {
                if is_served(&certificate, authority).await {
                    served.push(number);
                }
            }
            served
        };
        assert_eq!(served().await, [0]);
        replace("..2", both(1));
        assert_eq!(served().await, [1]);
        // The key of another one, none at all, and no files.
        replace("..3", [&pem[2][0], &pem[1][1]]);
        assert_eq!(served().await, [1]);
        replace("..4", ["", ""]);
        assert_eq!(served().await, [1]);
        std::fs::remove_file(at("..data")).expect("it is there");
        assert_eq!(served().await, [1]);
        replace("..5", both(2));
        assert_eq!(served().await, [2]);
    }

    #[test]
    fn what_cannot_serve_is_refused_at_the_beginning() {
        let [chain, key] = TestAuthority::new("one").sign("localhost", false).pem();
        let [_, other] = TestAuthority::new("one").sign("localhost", false).pem();
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let files = TlsPolicy { cert_file: at("tls.crt"), key_file: at("tls.key") };
        for (chain, key, why) in [
            (None, None, "failed to read"),
            (Some(&*chain), None, "tls.key"),
            (Some(&*chain), Some(""), "tls.key"),
            (Some(&*chain), Some(&*other), "the certificate cannot be used"),
            (Some(""), Some(&*key), "the certificate cannot be used"),
        ] {
            for (name, text) in [("tls.crt", chain), ("tls.key", key)] {
                let _ = std::fs::remove_file(at(name));
                if let Some(text) = text {
                    std::fs::write(at(name), text).expect("a file");
                }
            }
            let error = ServerCertificate::new(Some(&files)).err().expect(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
