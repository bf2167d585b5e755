//! Which proxy leads to a server, as Go decides it: kube holds `NO_PROXY` against the proxy's own name.

use std::net::IpAddr;

use http::Uri;

/// What the environment says about proxies.
#[derive(Debug, Clone, Default)]
pub(super) struct ProxyEnv {
    pub(super) https: Option<String>,
    pub(super) http: Option<String>,
    pub(super) none_for: String,
}

impl ProxyEnv {
    /// Reads the variables, lower case after upper case.
    pub(super) fn read() -> Self {
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

    /// The proxy for `server`, if one is to be used.
    pub(super) fn leading_to(&self, server: &Uri) -> Option<&str> {
        let secure = server.scheme_str() == Some("https");
        let proxy = if secure { self.https.as_deref() } else { self.http.as_deref() }?;
        let host = server.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
        let port = server.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let address: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return None;
        }
        let spared = self
            .none_for
            .split([',', ' '])
            .map(str::trim)
            .any(|rule| spares(rule, &host, address, port));
        (!spared).then_some(proxy)
    }
}

fn spares(rule: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    let rule = rule.to_ascii_lowercase();
    if rule == "*" {
        return true;
    }
    if let Some((network, length)) = rule.split_once('/') {
        let (Ok(network), Ok(length), Some(address)) = (network.parse(), length.parse(), address)
        else {
            return false;
        };
        return holds(network, length, address);
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
    // ".corp" is what is below corp; "corp" is that and corp itself.
    let below = name.trim_start_matches('*').trim_start_matches('.');
    if below.is_empty() {
        return false;
    }
    let is_below = host.strip_suffix(below).is_some_and(|rest| rest.ends_with('.'));
    is_below || host == name
}

fn holds(network: IpAddr, length: u32, address: IpAddr) -> bool {
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
        env.leading_to(&server.parse().expect("because the URLs below are valid")).is_some()
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
