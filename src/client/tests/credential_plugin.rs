//! Tests of credential plugins, with shell scripts as plugins.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::kubeconfig::ConnectError;
use super::server::{TestServer, json, quick, reply};
use crate::client::{Connection, ConnectionOptions, ReadError, Reader, RequestTimeout, connect};

const V1: &str = "client.authentication.k8s.io/v1";

/// A plugin that counts its runs, stores its input, and then runs `script`.
struct Fixture {
    folder: TempDir,
    script: String,
    settings: String,
    version: &'static str,
    request_timeout: RequestTimeout,
}

impl Fixture {
    fn new(script: &str) -> Self {
        let folder = TempDir::new().expect("because the temporary folder can be written");
        Self {
            folder,
            script: script.to_owned(),
            settings: "interactiveMode: Never".to_owned(),
            version: V1,
            request_timeout: RequestTimeout::default(),
        }
    }

    fn printing(output: &str) -> Self {
        Self::new(&format!("cat <<'END'\n{output}\nEND"))
    }

    fn settings(mut self, settings: &str) -> Self {
        settings.clone_into(&mut self.settings);
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn runs(&self) -> usize {
        self.read("runs").lines().count()
    }

    async fn connect(&self, server: &str) -> Result<Connection, ConnectError> {
        let folder = self.folder.path().display();
        let script = format!(
            "echo run >>'{folder}/runs'\nprintf %s \"$KUBERNETES_EXEC_INFO\" >'{folder}/info'\necho \"$1 $EXTRA\" >'{folder}/args'\n{}\n",
            self.script
        );
        let config = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: '{server}', extensions: [{{name: client.authentication.k8s.io/exec, \
             extension: {{a: 1}}}}]}}}}], users: [{{name: u, user: {{exec: {{apiVersion: {}, command: sh, \
             args: ['{folder}/plugin', first], env: [{{name: EXTRA, value: more}}], {}}}}}}}]}}",
            self.version, self.settings
        );
        std::fs::write(self.path("plugin"), script)
            .expect("because the temporary folder can be written");
        std::fs::write(self.path("config"), config)
            .expect("because the temporary folder can be written");
        let options = ConnectionOptions {
            kubeconfig: Some(self.path("config")),
            request_timeout: self.request_timeout,
            ..ConnectionOptions::default()
        };
        connect(&options, "test").await
    }

    async fn refused(&self) -> (String, String) {
        let error = self
            .connect("https://127.0.0.1:1")
            .await
            .map(|_| ())
            .expect_err("because it is of no use");
        (error.to_string(), error.hint().unwrap_or_default())
    }
}

fn credential(status: &str) -> String {
    format!(r#"{{"apiVersion":"{V1}","kind":"ExecCredential","status":{{{status}}}}}"#)
}

async fn ask(connection: &Connection) -> Result<serde_json::Value, ReadError> {
    Reader::with_limits(connection, quick()).get_json("/version").await.map(|answer| answer.value)
}

#[tokio::test]
async fn it_runs_once_and_knows_what_it_needs() {
    let server = TestServer::start(|_| json("{}")).await;
    let plugin = Fixture::printing(&credential(r#""token":"T1""#))
        .settings("interactiveMode: Never, provideClusterInfo: true");
    let connection = plugin.connect(&server.url).await.expect("because the plugin works");
    for _ in 0..3 {
        assert!(ask(&connection).await.is_ok());
    }
    assert_eq!(plugin.runs(), 1);
    assert!(server.asked().iter().all(|asked| asked.head.contains("authorization: bearer t1\r\n")));
    assert_eq!(plugin.read("args").trim(), "first more");
    let info: serde_json::Value =
        serde_json::from_str(&plugin.read("info")).expect("because we wrote it");
    assert_eq!(info["apiVersion"], V1);
    assert_eq!(
        (&info["kind"], &info["spec"]["interactive"]),
        (&"ExecCredential".into(), &false.into())
    );
    assert_eq!(info["spec"]["cluster"]["server"], server.url.as_str());
    assert_eq!(info["spec"]["cluster"]["config"]["a"], 1);
}

#[tokio::test]
async fn yaml_and_v1beta1_are_understood() {
    let server = TestServer::start(|_| json("{}")).await;
    let text = "apiVersion: client.authentication.k8s.io/v1beta1\nkind: ExecCredential\nstatus:\n  token: T2";
    let plugin =
        Fixture { version: "client.authentication.k8s.io/v1beta1", ..Fixture::printing(text) };
    let connection = plugin.connect(&server.url).await.expect("because the plugin works");
    assert!(ask(&connection).await.is_ok());
    assert!(server.asked()[0].head.contains("authorization: bearer t2\r\n"));
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_for_all() {
    let server = TestServer::start(|_| json("{}")).await;
    let script = format!(
        "n=$(wc -l <\"$(dirname \"$0\")/runs\"); [ $n = 1 ] && t=2020-01-01T00:00:00Z || t=2999-01-01T00:00:00Z\ncat <<END\n{}\nEND",
        credential(r#""token":"T'$n'","expirationTimestamp":"'$t'""#)
            .replace("'$n'", "$n")
            .replace("'$t'", "$t")
    );
    let plugin = Fixture::new(&script);
    let connection = plugin.connect(&server.url).await.expect("because the plugin works");
    let reader = Reader::with_limits(&connection, quick());
    let answers =
        futures::future::join_all((0..8).map(|_| reader.get_json::<serde_json::Value>("/version")))
            .await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(plugin.runs(), 2);
    assert!(server.asked().iter().all(|asked| asked.head.contains("authorization: bearer t2\r\n")));
}

#[tokio::test]
async fn a_token_that_was_refused_is_renewed_for_the_next_request() {
    let server =
        TestServer::start(|asked| if asked.nth == 0 { reply(401, "", "") } else { json("{}") })
            .await;
    let plugin = Fixture::printing(&credential(r#""token":"T1""#));
    let connection = plugin.connect(&server.url).await.expect("because the plugin works");
    assert!(ask(&connection).await.is_err_and(|error| error.code() == Some(401)));
    assert!(ask(&connection).await.is_ok());
    assert_eq!(plugin.runs(), 2);
}

#[tokio::test]
async fn a_plugin_that_fails_later_is_told_as_such() {
    let server = TestServer::start(|_| json("{}")).await;
    let good = credential(r#""token":"T","expirationTimestamp":"2020-01-01T00:00:00Z""#);
    let script =
        format!("[ $(wc -l <\"$(dirname \"$0\")/runs\") = 1 ] || exit 3\ncat <<'END'\n{good}\nEND");
    let connection = Fixture::new(&script);
    let connection =
        (connection.connect(&server.url).await.expect("because the plugin works once"), connection);
    ask(&connection.0).await.expect_err("because the plugin fails");
    // The second request does not run the plugin again at once.
    let error = ask(&connection.0).await.expect_err("because the plugin has failed");
    let ReadError::Credential(cause) = &error else { panic!("{error:?}") };
    assert_eq!(cause.to_string(), "the credential plugin sh failed with exit status: 3");
    assert_eq!((connection.1.runs(), server.asked().len()), (2, 0));
}

#[tokio::test]
async fn failures_are_told_without_secrets() {
    let (error, _) = Fixture::new("exit 7").refused().await;
    assert_eq!(error, "the credential plugin sh failed with exit status: 7");
    for output in [
        "secret-token",
        "",
        "{\"kind\":\"secret-token\"",
        &credential(""),
        &credential(r#""clientCertificateData":"secret-token""#),
        &credential(r#""token":"secret-token","expirationTimestamp":"soon""#),
        &credential(r#""token":["secret-token"]"#),
        &credential(r#""token":"secret-token""#).replace("/v1", "/v1beta1"),
        &credential(r#""token":"secret-token""#).replace("ExecC", "C"),
    ] {
        let (error, hint) = Fixture::printing(output).refused().await;
        assert!(
            error.contains("printed no usable ExecCredential: ") && !error.contains("secret"),
            "{output}: {error}"
        );
        assert!(hint.contains("manually"), "{hint}");
    }
    let old = Fixture { version: "client.authentication.k8s.io/v1alpha1", ..Fixture::new("") };
    assert!(old.refused().await.0.contains("v1alpha1"));
}

#[tokio::test]
async fn a_missing_plugin_comes_with_the_hint_of_the_kubeconfig() {
    let folder = TempDir::new().expect("because the temporary folder can be written");
    let path = folder.path().join("config");
    for (hint, expected) in
        [("installHint: brew install it", "brew install it"), ("x: 1", "add its folder to PATH")]
    {
        let config = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], clusters: [{{name: c, \
             cluster: {{server: 'https://a'}}}}], users: [{{name: u, user: {{exec: {{apiVersion: {V1}, command: no-such-plugin, {hint}}}}}}}]}}"
        );
        std::fs::write(&path, config).expect("because the temporary folder can be written");
        let options =
            ConnectionOptions { kubeconfig: Some(path.clone()), ..ConnectionOptions::default() };
        let error = connect(&options, "test")
            .await
            .map(|_| ())
            .expect_err("because there is no such plugin");
        assert_eq!(error.to_string(), "the credential plugin no-such-plugin was not found");
        assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{:?}", error.hint());
    }
}

#[tokio::test]
async fn an_expired_certificate_of_a_plugin_is_said() {
    let pem = include_str!("expired.pem").replace('\n', "\\n");
    let plugin = Fixture::printing(&credential(&format!(
        r#""clientCertificateData":"{pem}","clientKeyData":"k""#
    )));
    let (error, _) = plugin.refused().await;
    assert!(error.contains("expired on 2024-01-02"), "{error}");
}

#[tokio::test]
async fn a_certificate_of_a_plugin_is_used() {
    // A certificate and its key, made for this test.
    let pem = include_str!("valid.pem").replace('\n', "\\n");
    let both = format!(r#""clientCertificateData":"{pem}","clientKeyData":"{pem}""#);
    for expires in ["", r#","expirationTimestamp":"2099-01-01T00:00:00Z""#] {
        let plugin = Fixture::printing(&credential(&format!("{both}{expires}")));
        plugin.connect("https://127.0.0.1:1").await.expect("because the pair belongs together");
        assert_eq!(plugin.runs(), 1);
    }
}

#[tokio::test]
async fn a_plugin_that_hangs_ends_with_the_request_timeout() {
    let mut hanging = Fixture::new("sleep 60");
    hanging.request_timeout = RequestTimeout(Some(Duration::from_millis(300)));
    let begun = Instant::now();
    let (error, hint) = hanging.refused().await;
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(hint.contains("--request-timeout"), "{error} {hint}");
}
