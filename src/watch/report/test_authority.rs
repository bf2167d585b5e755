//! `TestAuthority`: signs the certificates of tests, and is trusted by whoever is told to.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// An authority of its own.
pub(super) struct TestAuthority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(super) struct TestCertificate {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivatePkcs8KeyDer<'static>,
}

impl TestAuthority {
    /// Another one has another name, as any two have.
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("because it names nobody");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("because ring has randomness");
        Self(CertifiedIssuer::self_signed(params, key).expect("because the key signs"))
    }

    /// Signs a certificate for a name; one that has ended, if that is wanted.
    pub(super) fn sign(&self, name: &str, is_over: bool) -> TestCertificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("because it is one");
        if is_over {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().expect("because ring has randomness");
        let signed = params.signed_by(&key, &self.0).expect("because the key signs");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        TestCertificate { chain: vec![signed.der().clone()], key }
    }

    /// Trusts this authority, and nobody else.
    pub(super) fn trusted(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("because it is a certificate");
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("because ring has them")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}

impl TestCertificate {
    /// Serves with it.
    pub(super) fn served(&self) -> ServerConfig {
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("because ring has them")
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key().into())
            .expect("because they fit together")
    }

    /// Certificate and key as files hold them.
    pub(super) fn pem(&self) -> [String; 2] {
        let certificate = self.chain.iter().map(|it| pem("CERTIFICATE", it)).collect();
        [certificate, pem("PRIVATE KEY", self.key.secret_pkcs8_der())]
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let base64 = serde_json::to_value(k8s_openapi::ByteString(der.to_vec()));
    let base64 = base64.expect("because it is text").as_str().unwrap_or_default().to_owned();
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}
