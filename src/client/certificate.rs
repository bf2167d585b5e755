//! Certificates in PEM: the end of the validity of one, and all of a bundle as DER.

use chrono::{DateTime, NaiveDateTime, Utc};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const EXPLICIT_VERSION: u8 = 0xa0;

/// Returns when the first certificate in `pem` expires; `None` if it cannot be read.
pub(super) fn expires(pem: &[u8]) -> Option<DateTime<Utc>> {
    let certificate = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    not_after(&certificate)
}

/// Returns every certificate in `pem` as DER; `None` if one of them is broken, or there is none.
pub(super) fn bundle(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all: Vec<Vec<u8>> = all.ok()?.into_iter().map(|certificate| certificate.to_vec()).collect();
    (!all.is_empty()).then_some(all)
}

/// Returns `notAfter` of a certificate: `Certificate { tbs { [0] version, serial, algorithm,
/// issuer, validity { notBefore, notAfter }, … }, … }`.
fn not_after(der: &[u8]) -> Option<DateTime<Utc>> {
    let (_, certificate, _) = element(der)?;
    let (_, mut tbs, _) = element(certificate)?;
    if tbs.first() == Some(&EXPLICIT_VERSION) {
        tbs = element(tbs)?.2;
    }
    for _ in 0..3 {
        tbs = element(tbs)?.2;
    }
    let (tag, validity, _) = element(tbs)?;
    let (_, _, rest) = element(validity)?;
    let (kind, time, _) = element(rest)?;
    let time = std::str::from_utf8(time).ok().filter(|_| tag == SEQUENCE)?;
    let full = match (kind, time.get(..2)?) {
        // RFC 5280: years of two digits below 50 belong to this century.
        (UTC_TIME, year) if year < "50" => format!("20{time}"),
        (UTC_TIME, _) => format!("19{time}"),
        (GENERALIZED_TIME, _) => time.to_owned(),
        _ => return None,
    };
    NaiveDateTime::parse_from_str(&full, "%Y%m%d%H%M%SZ").ok().map(|time| time.and_utc())
}

/// Splits off the first element of DER: its tag, its contents, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, short], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = if short < 0x80 {
        (usize::from(short), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
        if digits.len() > 4 {
            return None;
        }
        (digits.iter().fold(0, |length, &digit| (length << 8) | usize::from(digit)), rest)
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::{bundle, expires};

    /// `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj
    /// /CN=test-ca-1`
    const LONG: &str = "-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUVrQf5d//S01a0fbXxYRIx9wc0VQwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdC1jYS0xMCAXDTI2MDMwNDEzMDk1MFoYDzIxMjYwMjA4
MTMwOTUwWjAUMRIwEAYDVQQDDAl0ZXN0LWNhLTEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARg57mWJPDsAIEQAgXqMOOfjMQP+PE9HqcZobycO8z94r/uRuV0wKx/
0SvMsKFtnreut0bjgFtmZaWY+6d87Is9o1MwUTAdBgNVHQ4EFgQUjtGuhkM7LtHB
gMPCJIxMwbY69OQwHwYDVR0jBBgwFoAUjtGuhkM7LtHBgMPCJIxMwbY69OQwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAj/WzNVJDg/cBtLqQVM77
tkB+QyIXLG3Vi9Xj1YfW9QECIQDDFW8yFtgLeCg2Zhr4xQNq3/24r/01kI2rjFPO
xBkDMw==
-----END CERTIFICATE-----
";

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let end = expires(LONG.as_bytes()).map(|time| time.to_rfc3339());
        assert_eq!(end.as_deref(), Some("2126-02-08T13:09:50+00:00"));
        assert_eq!(expires(b"nonsense"), None);
        assert_eq!(bundle(LONG.repeat(2).as_bytes()).map(|all| all.len()), Some(2));
        assert_eq!(bundle(b""), None);
    }
}
