//! The certificate of the metrics: that of a file, read again when it changes, or one of our own.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

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
    /// What is in use, and of when its files were.
    current: Mutex<(Option<[SystemTime; 2]>, Arc<ServerConfig>)>,
}

impl ServerCertificate {
    /// Takes the certificate of these files; without files, makes one that nobody signed and that
    /// ends with this process.
    ///
    /// # Errors
    /// [`CertificateError`]
    pub(super) fn new(files: Option<&TlsPolicy>) -> Result<Self, CertificateError> {
        let config = match files {
            Some(files) => read(files)?,
            None => own()?,
        };
        let stamps = files.and_then(stamps);
        Ok(Self { files: files.cloned(), current: Mutex::new((stamps, Arc::new(config))) })
    }

    /// What is in use. Files that have changed are read again; those that are broken are told, and
    /// what was in use stays.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files {
            let now = stamps(files);
            if now.is_some() && now != current.0 {
                current.0 = now;
                match read(files) {
                    Ok(config) => current.1 = Arc::new(config),
                    Err(error) => tracing::warn!(%error, "the earlier certificate stays in use"),
                }
            }
        }
        Arc::clone(&current.1)
    }
}

/// When the files were written.
fn stamps(files: &TlsPolicy) -> Option<[SystemTime; 2]> {
    let of = |file: &Path| std::fs::metadata(file).and_then(|it| it.modified()).ok();
    Some([of(&files.cert_file)?, of(&files.key_file)?])
}

fn read(files: &TlsPolicy) -> Result<ServerConfig, CertificateError> {
    let failed = |file: &Path, reason: &dyn std::fmt::Display| CertificateError::File {
        file: file.display().to_string(),
        reason: reason.to_string(),
    };
    let of = |file: &Path| std::fs::read(file).map_err(|error| failed(file, &error));
    let chain = CertificateDer::pem_slice_iter(&of(&files.cert_file)?).collect::<Result<_, _>>();
    let chain = chain.map_err(|error| failed(&files.cert_file, &error))?;
    let key = PrivateKeyDer::from_pem_slice(&of(&files.key_file)?);
    config(chain, key.map_err(|error| failed(&files.key_file, &error))?)
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
