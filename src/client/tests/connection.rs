//! Tests of kubeconfigs, valid and invalid, and of the flags that override them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use super::super::kubeconfig::ConnectError;
use super::server::{TestServer, json};
use crate::client::kubeconfig::{SelectedContext, select_context};
use crate::client::{ConnectionOptions, Reader, connect};

const CONFIG: &str = "
apiVersion: v1
kind: Config
current-context: shop
clusters:
- {name: one, cluster: {server: 'https://one:6443', certificate-authority: ca.pem, tls-server-name: uno}}
- {name: two, cluster: {server: 'https://two:6443'}}
contexts:
- {name: shop, context: {cluster: one, user: anna, namespace: shop}}
- {name: bare, context: {cluster: two, user: ''}}
- {name: lost, context: {cluster: three, user: anna}}
- {name: nobody, context: {cluster: one, user: ben}}
users:
- {name: anna, user: {client-certificate-data: eA==, client-key-data: eQ==, username: u, password: p}}
";

struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().expect("because the temporary folder can be written");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text)
                .expect("because the temporary folder can be written");
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn env(&self, names: &[&str]) -> OsString {
        std::env::join_paths(names.iter().map(|name| self.path(name)))
            .expect("because the names have no colon")
    }
}

fn chosen(options: &ConnectionOptions, env: &OsString) -> Result<SelectedContext, ConnectError> {
    select_context(options, Some(env), Some(Path::new("/nonexistent"))).and_then(|chosen| chosen)
}

fn told(options: &ConnectionOptions, env: &OsString) -> (String, String) {
    let error = chosen(options, env).expect_err("because something is wrong with it");
    (error.to_string(), error.hint().unwrap_or_default())
}

#[test]
fn the_current_context_is_taken() {
    let files = Files::new(&[("config", CONFIG)]);
    let chosen = chosen(&ConnectionOptions::default(), &files.env(&["config"]))
        .expect("because it is complete");
    assert_eq!(chosen.namespace.as_deref(), Some("shop"));
    assert_eq!((chosen.cluster_name.as_str(), chosen.user_name.as_str()), ("one", "anna"));
    assert_eq!(chosen.cluster.certificate_authority.map(PathBuf::from), Some(files.path("ca.pem")));
}

#[test]
fn files_are_merged_and_may_be_missing() {
    let second = "{current-context: other, contexts: [{name: shop, context: {cluster: x}}, {name: other, context: {cluster: two}}]}";
    let files = Files::new(&[("config", CONFIG), ("second", second)]);
    let options =
        ConnectionOptions { context: Some("other".to_owned()), ..ConnectionOptions::default() };
    let env = files.env(&["gone", "config", "second"]);
    assert_eq!(
        chosen(&options, &env).map(|chosen| chosen.cluster_name).ok().as_deref(),
        Some("two")
    );
    let plain = chosen(&ConnectionOptions::default(), &env).expect("because it is complete");
    assert_eq!(plain.cluster_name, "one");
}

#[test]
fn flags_override_as_in_kubectl() {
    let files = Files::new(&[("config", CONFIG)]);
    let env = files.env(&["config"]);
    let options = ConnectionOptions {
        cluster: Some("two".to_owned()),
        server: Some("other:1234".to_owned()),
        token: Some(SecretString::from("t")),
        as_user: Some("root".to_owned()),
        as_groups: vec!["g".to_owned(), "h".to_owned()],
        insecure_skip_tls_verify: true,
        disable_compression: true,
        ..ConnectionOptions::default()
    };
    let SelectedContext { cluster, user, .. } =
        chosen(&options, &env).expect("because it is complete");
    assert_eq!(cluster.server.as_deref(), Some("https://other:1234"));
    assert_eq!(
        (cluster.insecure_skip_tls_verify, cluster.disable_compression),
        (Some(true), Some(true))
    );
    assert_eq!(user.token.as_ref().map(ExposeSecret::expose_secret), Some("t"));
    assert!(user.client_certificate_data.is_none() && user.username.is_none());
    assert_eq!(
        (user.impersonate.as_deref(), user.impersonate_groups.map(|groups| groups.len())),
        (Some("root"), Some(2))
    );

    let options = ConnectionOptions {
        server: Some("https://x".to_owned()),
        client_certificate: Some("/c".into()),
        certificate_authority: Some("/ca".into()),
        ..ConnectionOptions::default()
    };
    let SelectedContext { cluster, user, .. } =
        chosen(&options, &env).expect("because it is complete");
    assert_eq!(
        (cluster.tls_server_name, cluster.certificate_authority.as_deref()),
        (None, Some("/ca"))
    );
    assert!(user.client_certificate_data.is_none() && user.client_key_data.is_some());

    let options =
        ConnectionOptions { as_uid: Some("1".to_owned()), ..ConnectionOptions::default() };
    assert!(told(&options, &env).0.contains("need --as"));
}

#[test]
fn what_is_wrong_is_said() {
    let broken = format!("{CONFIG}\nusers:\n- token: [secret-token\n");
    let files = Files::new(&[
        ("config", CONFIG),
        ("broken", &broken),
        ("empty", ""),
        ("nocontext", "{contexts: [{name: a}]}"),
    ]);
    let none = ConnectionOptions::default();
    let with = |context: &str| ConnectionOptions {
        context: Some(context.to_owned()),
        ..ConnectionOptions::default()
    };

    let (error, hint) = told(&none, &files.env(&["gone"]));
    assert!(
        error.starts_with("no kubeconfig found: looked for ") && error.ends_with("/gone"),
        "{error}"
    );
    assert!(hint.contains("--kubeconfig"), "{hint}");

    let (error, _) = told(&none, &files.env(&["broken"]));
    assert!(
        error.contains("broken:")
            && error.contains("not a kubeconfig")
            && !error.contains("secret"),
        "{error}"
    );

    assert!(told(&none, &files.env(&["empty"])).0.ends_with("/empty is empty"));
    let (error, hint) = told(&none, &files.env(&["nocontext"]));
    assert!(error == "no current context is set" && hint.ends_with("known: a"), "{error} {hint}");

    let env = files.env(&["config"]);
    let (error, hint) = told(&with("shpo"), &env);
    assert_eq!(error, r#"no context named "shpo" in the kubeconfig"#);
    assert_eq!(hint, "known: shop, bare, lost, nobody");
    assert_eq!(
        told(&with("lost"), &env),
        (r#"no cluster named "three" in the kubeconfig"#.to_owned(), "known: one, two".to_owned())
    );
    assert_eq!(
        told(&with("nobody"), &env),
        (r#"no user named "ben" in the kubeconfig"#.to_owned(), "known: anna".to_owned())
    );
    assert!(chosen(&with("bare"), &env).is_ok());

    let options = ConnectionOptions { kubeconfig: Some(files.path("gone")), ..none };
    let error = select_context(&options, None, None)
        .map(|_| ())
        .expect_err("because a file named by flag must exist");
    assert!(matches!(error, ConnectError::Read { .. }), "{error}");
}

#[test]
fn the_home_folder_is_the_last_resort() {
    let home = TempDir::new().expect("because the temporary folder can be written");
    std::fs::create_dir(home.path().join(".kube"))
        .expect("because the temporary folder can be written");
    std::fs::write(home.path().join(".kube/config"), CONFIG)
        .expect("because the temporary folder can be written");
    for env in [None, Some(std::ffi::OsStr::new(""))] {
        let chosen = select_context(&ConnectionOptions::default(), env, Some(home.path()))
            .and_then(|chosen| chosen);
        assert_eq!(chosen.map(|chosen| chosen.cluster_name).ok().as_deref(), Some("one"));
    }
}

async fn refused(config: &str) -> (String, String) {
    let files = Files::new(&[("config", config)]);
    let options = ConnectionOptions {
        kubeconfig: Some(files.path("config")),
        ..ConnectionOptions::default()
    };
    let error = connect(&options, "test")
        .await
        .map(|_| ())
        .expect_err("because something is wrong with it");
    (error.to_string(), error.hint().unwrap_or_default())
}

fn config(cluster: &str, user: &str) -> String {
    format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         clusters: [{{name: c, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    )
}

#[tokio::test]
async fn broken_credentials_are_said_before_anything_is_sent() {
    const SERVER: &str = "server: 'https://127.0.0.1:1'";
    for (cluster, user, expected) in [
        ("", "", "the cluster \"c\" has no server URL"),
        ("server: nowhere", "", "is not a URL"),
        (
            "server: 'https://a:1', certificate-authority: /nonexistent/ca",
            "",
            "certificate authority /nonexistent/ca cannot be read",
        ),
        (
            "server: 'https://a:1', certificate-authority-data: eA==",
            "",
            "certificate authority contains no usable PEM",
        ),
        (
            "server: 'https://a:1', certificate-authority-data: '!'",
            "",
            "certificate authority contains no usable PEM",
        ),
        (
            SERVER,
            "client-certificate: /nonexistent/crt",
            "client certificate /nonexistent/crt cannot be read",
        ),
        (SERVER, "tokenFile: /nonexistent/token", "token file /nonexistent/token cannot be read"),
        (SERVER, "auth-provider: {name: gcp}", "auth-provider \"gcp\""),
        (SERVER, "token: \"a\\nb\"", "characters that are invalid in a token"),
    ] {
        let (error, _) = refused(&config(cluster, user)).await;
        assert!(error.contains(expected), "{error}");
    }
    assert!(refused(&config(SERVER, "auth-provider: {name: azure}")).await.1.contains("kubelogin"));
}

/// A certificate, made for this test, that expired on 2024-01-02.
const EXPIRED: &str = include_str!("expired.pem");

#[tokio::test]
async fn an_expired_certificate_is_said() {
    let folder = TempDir::new().expect("because the temporary folder can be written");
    let path = folder.path().join("crt");
    std::fs::write(&path, EXPIRED).expect("because the temporary folder can be written");
    let user = format!("client-certificate: '{0}', client-key: '{0}'", path.display());
    let (error, hint) = refused(&config("server: 'https://127.0.0.1:1'", &user)).await;
    assert!(error.contains("client certificate of user \"u\" expired on 2024-01-02"), "{error}");
    assert!(hint.contains("clock"), "{hint}");
}

#[tokio::test]
async fn tokens_files_and_impersonation_are_sent() {
    let server = TestServer::start(|_| json("{}")).await;
    let files = Files::new(&[("token", "from-file\n")]);
    let cluster = format!("server: '{}'", server.url);
    for (user, expected) in [
        (
            format!("tokenFile: '{}'", files.path("token").display()),
            "authorization: bearer from-file\r\n",
        ),
        ("token: \"inline\\n\"".to_owned(), "authorization: bearer inline\r\n"),
        ("username: u, password: p".to_owned(), "authorization: basic dtpw\r\n"),
    ] {
        let files = Files::new(&[("config", &config(&cluster, &user))]);
        let options = ConnectionOptions {
            kubeconfig: Some(files.path("config")),
            as_user: Some("root".to_owned()),
            as_groups: vec!["g".to_owned(), "h".to_owned()],
            as_uid: Some("7".to_owned()),
            ..ConnectionOptions::default()
        };
        let connection = connect(&options, "test").await.expect("because it is complete");
        assert!(Reader::new(&connection).get_json::<serde_json::Value>("/version").await.is_ok());
        let asked = server.asked();
        let head = &asked.last().expect("because something was asked").head;
        for line in [
            expected,
            "impersonate-user: root\r\n",
            "impersonate-group: g\r\n",
            "impersonate-group: h\r\n",
            "impersonate-uid: 7\r\n",
        ] {
            assert!(head.contains(line), "{line}: {head}");
        }
    }
}

#[tokio::test]
async fn a_connection_says_where_it_leads() {
    let server = TestServer::start(|_| json("{}")).await;
    let connection = server.connect().await;
    assert_eq!(
        (connection.server.as_str(), connection.namespace.as_str()),
        (server.url.as_str(), "default")
    );
    let options = ConnectionOptions {
        namespace: Some("shop".to_owned()),
        request_timeout: "5s".parse().expect("because it is a duration"),
        ..server.options()
    };
    let connection = connect(&options, "test").await.expect("because it is complete");
    assert_eq!(
        (connection.namespace.as_str(), connection.request_timeout.map(|time| time.as_secs())),
        ("shop", Some(5))
    );
}
