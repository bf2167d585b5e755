//! Proxy of the environment, selected as Go does it: kube compares `NO_PROXY` with the proxy's own name.

use std::net::IpAddr;

use http::Uri;

/// The environment variables about proxies.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProxyEnv {
    pub(crate) https: Option<String>,
    pub(crate) http: Option<String>,
    pub(crate) none_for: String,
}

impl ProxyEnv {
    /// Reads the variables; upper case takes precedence over lower case.
    pub(crate) fn read() -> Self {
        let either = |upper: &str, lower: &str| {
            let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            set(upper).or_else(|| set(lower))
        };
        Self {
            https: either("HTTPS_PROXY", "https_proxy"),
            http: either("HTTP_PROXY", "http_proxy"),
            none_for: either("NO_PROXY", "no_proxy").unwrap_or_default(),
        }
    }

    /// Returns the proxy for `server`, if one is to be used.
    pub(crate) fn proxy_for(&self, server: &Uri) -> Option<&str> {
        let secure = server.scheme_str() == Some("https");
        let proxy = if secure { self.https.as_deref() } else { self.http.as_deref() }?;
        let host = server.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
        let port = server.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let address: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return None;
        }
        let excluded = self
            .none_for
            .split([',', ' '])
            .map(str::trim)
            .any(|rule| excludes(rule, &host, address, port));
        (!excluded).then_some(proxy)
    }
}

/// Whether one entry of `NO_PROXY` excludes a host.
fn excludes(rule: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    let rule = rule.to_ascii_lowercase();
    if rule == "*" {
        return true;
    }
    if let Some((network, length)) = rule.split_once('/') {
        let (Ok(network), Ok(length), Some(address)) = (network.parse(), length.parse(), address)
        else {
            return false;
        };
        return contains(network, length, address);
    }
    if let Ok(rule) = rule.trim_matches(['[', ']']).parse::<IpAddr>() {
        return address == Some(rule);
    }
    let name = match rule.rsplit_once(':') {
        Some((name, digits)) => match digits.parse::<u16>() {
            Ok(only) if only == port => name,
            _ => return false,
        },
        None => rule.as_str(),
    };
    if let Ok(rule) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
        return address == Some(rule);
    }
    // ".corp" matches the hosts below corp; "corp" matches corp too.
    let below = name.trim_start_matches('*').trim_start_matches('.');
    if below.is_empty() {
        return false;
    }
    let is_below = host.strip_suffix(below).is_some_and(|rest| rest.ends_with('.'));
    is_below || host == name
}

/// Whether an address is in a network.
fn contains(network: IpAddr, length: u32, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) if length <= 32 => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) if length <= 128 => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::ProxyEnv;

    fn proxied(none_for: &str, server: &str) -> bool {
        let env = ProxyEnv {
            https: Some("http://proxy:3128".to_owned()),
            http: None,
            none_for: none_for.to_owned(),
        };
        env.proxy_for(&server.parse().expect("because the URLs below are valid")).is_some()
    }

    #[test]
    fn no_proxy_speaks_about_the_server() {
        for (none_for, server, expected) in [
            ("", "https://api.corp:6443", true),
            ("", "http://api.corp:6443", false),
            ("", "https://127.0.0.1:6443", false),
            ("", "https://[::1]:6443", false),
            ("*", "https://api.corp", false),
            ("corp,", "https://api.corp", false),
            (".corp", "https://api.corp", false),
            (".corp", "https://corp", true),
            ("corp", "https://corp", false),
            ("corp", "https://notcorp", true),
            ("api.corp:6443", "https://api.corp:6443", false),
            ("api.corp:443", "https://api.corp:6443", true),
            ("10.0.0.0/8", "https://10.1.2.3", false),
            ("10.0.0.0/8", "https://11.1.2.3", true),
            ("0.0.0.0/0", "https://11.1.2.3", false),
            ("fd00::/8", "https://[fd00::1]:6443", false),
            ("10.1.2.3", "https://10.1.2.3:6443", false),
            ("proxy", "https://api.corp", true),
        ] {
            assert_eq!(proxied(none_for, server), expected, "{none_for:?} {server}");
        }
    }
}
