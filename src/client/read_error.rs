//! `ReadError`: reason for which something could not be read, with advice for the user.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use super::credential::ExecError;

/// Reason for which something could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The API server answered with an error.
    #[error("{path} was answered with {code} {reason}: {message}")]
    Api {
        /// The HTTP code.
        code: u16,
        /// `reason` of the `Status`, such as `Forbidden` or `Expired`.
        reason: String,
        /// `message` of the `Status`, or the text that came instead.
        message: String,
        /// The path of the request.
        path: String,
    },
    /// The API server itself says that an object does not exist, or that it serves no such path.
    #[error("{path} was answered with 404 {reason}: {message}")]
    NotFound {
        /// The name of the object; `None` where the path is not served.
        object: Option<String>,
        /// `reason` of the `Status`, or that of the HTTP code.
        reason: String,
        /// `message` of the `Status`, or the text that came instead.
        message: String,
        /// The path of the request.
        path: String,
    },
    /// No process listens at the server's address.
    #[error("the connection to the server {server} was refused")]
    Refused {
        /// URL of the server.
        server: String,
    },
    /// The server's name has no address.
    #[error("no such host: the name in {server} cannot be resolved")]
    UnknownHost {
        /// URL of the server.
        server: String,
    },
    /// The TLS handshake failed.
    #[error("no trusted connection to the server {server}: {fault}")]
    Tls {
        /// URL of the server.
        server: String,
        /// The fault.
        fault: TlsFault,
    },
    /// Another failure to reach the server.
    #[error("the server {server} cannot be reached: {detail}")]
    Unreachable {
        /// URL of the server.
        server: String,
        /// The operating system's error.
        detail: String,
    },
    /// No answer, or no further byte of it, arrived in time.
    #[error("{path} was not answered within {}s", after.as_secs_f32())]
    TimedOut {
        /// The path of the request.
        path: String,
        /// Time for which the reader waited.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection broke during the request for {path}: {detail}")]
    Broken {
        /// The path of the request.
        path: String,
        /// The operating system's error.
        detail: String,
    },
    /// A list ended before its end.
    #[error("the answer to {path} was truncated after {items} items")]
    Truncated {
        /// The path of the request.
        path: String,
        /// Number of whole items that arrived.
        items: u64,
    },
    /// The answer does not have the expected form.
    #[error("the answer to {path} cannot be decoded: {detail}")]
    Undecodable {
        /// The path of the request.
        path: String,
        /// The fault.
        detail: String,
    },
    /// The credential could not be renewed.
    #[error("the credential could not be renewed")]
    Credential(#[source] Arc<ExecError>),
    /// The request could change something; readers do not send such requests.
    #[error("{method} {path} is not a read")]
    NotARead {
        /// The verb.
        method: String,
        /// The path of the request.
        path: String,
    },
}

/// Fault of a TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    /// The certificate is not signed by a trusted authority.
    #[error("its certificate is signed by an unknown authority")]
    UnknownAuthority,
    /// The server's certificate has expired, or is not valid yet.
    #[error("its certificate has expired or is not valid yet, by this machine's clock")]
    Expired,
    /// The certificate is for another name.
    #[error("its certificate is for another host name")]
    WrongName,
    /// The server does not speak TLS.
    #[error("it does not speak TLS; is this an http:// server?")]
    NotTls,
    /// The server rejected the client certificate.
    #[error("it rejected the client certificate ({0})")]
    ClientRejected(String),
    /// Another fault, in these words.
    #[error("{0}")]
    Other(String),
}

impl ReadError {
    /// Whether access was denied.
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Whether the API server says that no object of this name exists, and not that it does not
    /// serve the path. Any other 404 proves nothing.
    pub fn is_absence_of(&self, name: &str) -> bool {
        matches!(self, Self::NotFound { object: Some(absent), .. } if absent == name)
    }

    /// Whether the API server itself says that it does not serve this path. Alone it proves nothing
    /// about a kind: another version of it may be served.
    pub fn is_not_served(&self) -> bool {
        matches!(self, Self::NotFound { object: None, .. })
    }

    /// Whether the resource version or page has expired.
    pub fn is_gone(&self) -> bool {
        self.code() == Some(410)
    }

    /// Whether the server cannot answer in the requested encoding.
    pub fn is_not_acceptable(&self) -> bool {
        self.code() == Some(406)
    }

    /// Whether the server, or a proxy before it, took too long.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. }) || self.code() == Some(504)
    }

    /// Whether the answer began and did not end.
    pub fn is_cut_short(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::Truncated { .. } | Self::TimedOut { .. })
    }

    /// Returns the HTTP code, if there was an answer.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Api { code, .. } => Some(*code),
            Self::NotFound { .. } => Some(404),
            _ => None,
        }
    }

    /// Whether a later attempt may succeed without any repair here: the server is down,
    /// is starting, or has too much to do.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Api { code, .. } => *code == 429 || *code >= 500,
            Self::Refused { .. }
            | Self::UnknownHost { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Broken { .. }
            | Self::Truncated { .. } => true,
            Self::NotFound { .. }
            | Self::Tls { .. }
            | Self::Undecodable { .. }
            | Self::Credential(_)
            | Self::NotARead { .. } => false,
        }
    }

    /// Returns advice for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Api { code: 401, .. } => {
                "the credential is missing, expired or revoked: log in again, or select another with --context or --user"
            }
            Self::Api { code: 403, .. } => {
                "`kubectl storage rbac audit --check` lists the permissions that you lack"
            }
            Self::Api { code: 429 | 503, .. } => {
                "the API server is overloaded or starting: retry in a minute"
            }
            Self::Refused { .. } | Self::Unreachable { .. } | Self::UnknownHost { .. } => {
                "is this the right cluster, and is a VPN or proxy needed? See `kubectl config view --minify`"
            }
            Self::Tls { fault, .. } => match fault {
                TlsFault::UnknownAuthority => "pass the cluster's CA with --certificate-authority",
                TlsFault::Expired => {
                    "check this machine's clock, then renew the API server's certificate"
                }
                TlsFault::WrongName => "pass the name in the certificate with --tls-server-name",
                TlsFault::NotTls => "check the scheme and port of the server's URL",
                TlsFault::ClientRejected(_) => "renew the client certificate in the kubeconfig",
                TlsFault::Other(_) => return None,
            },
            Self::TimedOut { .. } => {
                "allow more time with --request-timeout, or smaller pages with --chunk-size"
            }
            Self::Broken { .. } | Self::Truncated { .. } => {
                "retry; if this happens often, check the proxies between"
            }
            Self::Credential(error) => return error.hint(),
            Self::Api { .. }
            | Self::NotFound { .. }
            | Self::Undecodable { .. }
            | Self::NotARead { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Builds the error for an answer that cannot be decoded.
    pub(super) fn undecodable(path: &str, detail: &dyn fmt::Display) -> Self {
        Self::Undecodable { path: path.to_owned(), detail: detail.to_string() }
    }

    /// Whether a failure of the transport came before the request was handed over to a connection: nothing of it was
    /// sent. Whatever fails later says nothing about what the server has done.
    pub(crate) fn is_before_sending(error: &(dyn Error + 'static)) -> bool {
        causes(error).any(|it| {
            let of_client = it.downcast_ref::<hyper_util::client::legacy::Error>();
            it.is::<ExecError>()
                || of_client.is_some_and(hyper_util::client::legacy::Error::is_connect)
        })
    }

    /// Classifies a failure of the transport.
    pub fn of_transport(error: &(dyn Error + 'static), server: &str, path: &str) -> Self {
        let server = server.to_owned();
        let mut deepest = String::new();
        let mut resolving = false;
        let mut connecting = false;
        for error in causes(error) {
            if let Some(error) = error.downcast_ref::<ExecError>() {
                return Self::Credential(Arc::new(error.clone()));
            }
            if let Some(error) = error.downcast_ref::<rustls::Error>()
                && (connecting || TlsFault::is_of_handshake(error))
            {
                return Self::Tls { server, fault: TlsFault::of(error) };
            }
            let text = error.to_string();
            resolving |= text.contains("dns error");
            connecting |=
                text.contains("client error (Connect)") || text.contains("tcp connect error");
            if !text.is_empty() {
                deepest = text;
            }
            match error.downcast_ref::<io::Error>().map(io::Error::kind) {
                Some(io::ErrorKind::ConnectionRefused) => return Self::Refused { server },
                Some(io::ErrorKind::TimedOut) => {
                    "the connection timed out".clone_into(&mut deepest);
                    break;
                }
                _ => {}
            }
        }
        match (resolving, connecting) {
            (true, _) => Self::UnknownHost { server },
            (false, true) => Self::Unreachable { server, detail: deepest },
            (false, false) => Self::Broken { path: path.to_owned(), detail: deepest },
        }
    }
}

/// Returns an error and those that caused it, the deepest last.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn Error + 'static) = *error;
        // The source of an io::Error is that of the error that it wraps: without this, the wrapped error
        // would be skipped.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

impl TlsFault {
    /// Whether an error is about a certificate, at any time: TLS 1.3 rejects that of a client after the handshake. Any
    /// other fault of a connection that was made is one of what came through it.
    fn is_of_handshake(error: &rustls::Error) -> bool {
        use rustls::AlertDescription as Alert;
        match error {
            rustls::Error::InvalidCertificate(_) => true,
            rustls::Error::AlertReceived(alert) => matches!(
                alert,
                Alert::HandshakeFailure
                    | Alert::BadCertificate
                    | Alert::UnsupportedCertificate
                    | Alert::CertificateRevoked
                    | Alert::CertificateExpired
                    | Alert::CertificateUnknown
                    | Alert::CertificateRequired
                    | Alert::UnknownCA
                    | Alert::AccessDenied
            ),
            _ => false,
        }
    }

    fn of(error: &rustls::Error) -> Self {
        use rustls::CertificateError as Certificate;
        use rustls::Error as Tls;
        match error {
            Tls::InvalidCertificate(fault) => match fault {
                Certificate::UnknownIssuer => Self::UnknownAuthority,
                Certificate::Expired
                | Certificate::ExpiredContext { .. }
                | Certificate::NotValidYet
                | Certificate::NotValidYetContext { .. } => Self::Expired,
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                    Self::WrongName
                }
                // rustls reports this for a self-signed certificate that is not trusted.
                Certificate::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                    Self::UnknownAuthority
                }
                fault => Self::Other(fault.to_string()),
            },
            Tls::InvalidMessage(_) => Self::NotTls,
            Tls::AlertReceived(alert) => Self::ClientRejected(format!("{alert:?}")),
            error => Self::Other(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustls::CertificateError;

    use super::ReadError;

    #[test]
    fn faults_of_certificates_are_told_apart() {
        for (fault, text) in [
            (CertificateError::UnknownIssuer, "unknown authority"),
            (CertificateError::Expired, "expired"),
            (CertificateError::NotValidForName, "another host name"),
            (CertificateError::BadSignature, "BadSignature"),
        ] {
            // As hyper-rustls hands it over: inside an io::Error, which hides it from source().
            let error = io::Error::other(rustls::Error::InvalidCertificate(fault));
            let error = ReadError::of_transport(&error, "https://api", "/version");
            assert!(
                error.to_string().contains(text) && error.to_string().contains("https://api"),
                "{error}"
            );
        }
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateExpired);
        let error = ReadError::of_transport(&io::Error::other(alert), "https://api", "/version");
        assert!(error.hint().is_some_and(|hint| hint.contains("client certificate")), "{error}");
    }

    #[test]
    fn what_fails_after_the_request_was_handed_over_is_a_broken_connection() {
        let broken = [
            io::Error::from(io::ErrorKind::TimedOut),
            io::Error::other(rustls::Error::DecryptError),
            io::Error::other(rustls::Error::AlertReceived(rustls::AlertDescription::InternalError)),
            io::Error::other(rustls::Error::InvalidMessage(
                rustls::InvalidMessage::InvalidContentType,
            )),
        ];
        for error in broken {
            assert!(!ReadError::is_before_sending(&error), "{error}");
            let error = ReadError::of_transport(&error, "https://api", "/x");
            assert!(error.is_cut_short() && error.may_pass(), "{error}");
        }
    }

    #[test]
    fn a_reset_is_a_broken_connection() {
        let error = ReadError::of_transport(
            &io::Error::from(io::ErrorKind::ConnectionReset),
            "https://api",
            "/x",
        );
        assert!(error.is_cut_short(), "{error}");
        assert_eq!(
            error.to_string(),
            "the connection broke during the request for /x: connection reset"
        );
    }
}
