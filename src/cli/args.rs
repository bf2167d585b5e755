//! Flags and values that several commands share.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use clap_complete::ArgValueCandidates;

use super::{Exit, Failure, completion};
use crate::{
    client::{ConnectionOptions, RequestTimeout, current_context},
    model::{
        AskedEntry, Beside, FreeShare, JournalPlace, Kind, Recording, Scope, Selector, Settings,
        Text, Threshold, did_you_mean, escape_control, is_namespace_name, is_object_name, nearest,
        parse_duration,
    },
    output::{
        format::{Format, FormatError},
        order::SortError,
        repeated::RepeatedFlags,
    },
    rules,
    watch::policy::acting::ReconcilerName,
};

/// Default namespace of `watch` and of its journal.
pub const WATCH_NAMESPACE: &str = "kubectl-storage";
/// Default namespace of the journal in the cluster. It is not that of `watch`: who may write a journal may write all
/// `ConfigMap`s of its namespace.
pub const JOURNAL_NAMESPACE: &str = "kubectl-storage-journal";
/// Default namespaces of journals in the cluster: that of commands, and that of `watch` as it is printed.
pub const JOURNAL_NAMESPACES: [&str; 2] = [JOURNAL_NAMESPACE, WATCH_NAMESPACE];

/// kubectl's connection flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Use this kubeconfig file
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
    /// Use this cluster of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    cluster: Option<String>,
    /// Use this user of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    user: Option<String>,
    /// Impersonate this user
    #[arg(long = "as", global = true, value_name = "USER")]
    as_user: Option<String>,
    /// Impersonate this group; can be repeated
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    as_groups: Vec<String>,
    /// Impersonate this UID
    #[arg(long, global = true, value_name = "UID")]
    as_uid: Option<String>,
    /// Connect to the API server at this address
    #[arg(short, long, global = true, value_name = "URL")]
    server: Option<String>,
    /// Authenticate with this bearer token
    #[arg(long, global = true, hide_env_values = true)]
    token: Option<String>,
    /// Trust the certificate authority in this file
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    certificate_authority: Option<PathBuf>,
    /// Authenticate with the client certificate in this file
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    client_certificate: Option<PathBuf>,
    /// Use the private key in this file for the client certificate
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    client_key: Option<PathBuf>,
    /// Skip verification of the server's certificate, which makes the connection insecure
    #[arg(long, global = true)]
    insecure_skip_tls_verify: bool,
    /// Verify the server's certificate against this name
    #[arg(long, global = true, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Request uncompressed responses
    #[arg(long, global = true)]
    disable_compression: bool,
    /// Wait this long for one request: seconds or a duration; 0 means without limit
    #[arg(long, global = true, value_name = "DURATION")]
    request_timeout: Option<RequestTimeout>,
    /// Request lists in pages of this many objects; 0 requests each list whole
    #[arg(long, global = true, value_name = "N")]
    chunk_size: Option<u32>,
}

impl ConnectionArgs {
    /// Converts to the options of a connection in a namespace.
    pub fn options(&self, namespace: Option<&str>) -> ConnectionOptions {
        ConnectionOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            namespace: namespace.map(str::to_owned),
            as_user: self.as_user.clone(),
            as_groups: self.as_groups.clone(),
            as_uid: self.as_uid.clone(),
            server: self.server.clone(),
            token: self.token.clone().map(Into::into),
            certificate_authority: self.certificate_authority.clone(),
            client_certificate: self.client_certificate.clone(),
            client_key: self.client_key.clone(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            tls_server_name: self.tls_server_name.clone(),
            disable_compression: self.disable_compression,
            request_timeout: self.request_timeout.unwrap_or_default(),
        }
    }

    /// Returns the context that is used, if the kubeconfig tells.
    pub fn context_in_use(&self) -> Option<String> {
        self.context.clone().or_else(|| current_context(&self.options(None)))
    }

    /// The same for a context.
    pub fn in_context(&self, context: &str) -> Self {
        Self { context: Some(context.to_owned()), ..self.clone() }
    }

    /// Holds that no flag but a context names one cluster or its user, where others are read beside it.
    ///
    /// # Errors
    /// When one does: it would be that of the others, too.
    pub fn fits_beside(&self, beside: &Beside) -> Result<(), Failure> {
        let given = [
            ("--server", self.server.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--user", self.user.is_some()),
            ("--token", self.token.is_some()),
            ("--client-certificate", self.client_certificate.is_some()),
            ("--client-key", self.client_key.is_some()),
            ("--certificate-authority", self.certificate_authority.is_some()),
            ("--insecure-skip-tls-verify", self.insecure_skip_tls_verify),
            ("--tls-server-name", self.tls_server_name.is_some()),
        ];
        match given.into_iter().find(|it| it.1 && !beside.clusters.is_empty()) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Failure::usage(format!("--beside and {flag} exclude each other"))
                    .hint(Some("--context names the cluster that is changed")))
            }
        }
    }

    /// Returns the flags that identify the cluster and the user. A token is a secret: it is not printed.
    pub fn repeated(&self) -> RepeatedFlags {
        let path = |it: &Option<PathBuf>| it.as_ref().map(|it| it.display().to_string());
        let given = [
            ("--kubeconfig", path(&self.kubeconfig)),
            ("--context", self.context.clone()),
            ("--cluster", self.cluster.clone()),
            ("--user", self.user.clone()),
            ("--server", self.server.clone()),
            ("--as", self.as_user.clone()),
            ("--as-uid", self.as_uid.clone()),
            ("--certificate-authority", path(&self.certificate_authority)),
            ("--client-certificate", path(&self.client_certificate)),
            ("--client-key", path(&self.client_key)),
            ("--tls-server-name", self.tls_server_name.clone()),
        ];
        let given = given.into_iter().filter(|(_, value)| value.is_some());
        let groups = self.as_groups.iter().map(|it| ("--as-group", Some(it.clone())));
        let insecure =
            self.insecure_skip_tls_verify.then_some(("--insecure-skip-tls-verify", None));
        RepeatedFlags::of_connection(given.chain(groups).chain(insecure))
    }

    /// Returns the items per page, zero for no pages; `None` leaves it to the server's version.
    pub fn chunk_size(&self) -> Option<u32> {
        self.chunk_size
    }
}

/// Age from a flag: a duration with a unit, longer than zero.
#[derive(Debug, Clone, Copy)]
pub struct MinimumAge(pub Duration);

impl FromStr for MinimumAge {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_duration(text).map(Self)
    }
}

/// Threshold of findings: a duration, or the share of a volume that must be free.
#[derive(Debug, Clone, Copy)]
pub enum FindingThreshold {
    /// `NAME=DURATION`.
    Age(ThresholdSetting),
    /// `nearly-full=10%`.
    Free(FreeShare),
}

impl FromStr for FindingThreshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((FreeShare::NAME, share)) => FreeShare::parse(share).map(Self::Free),
            _ => text.parse().map(Self::Age).map_err(|error: String| {
                let names = error.starts_with("unknown threshold");
                if names { format!("{error}, {}", FreeShare::NAME) } else { error }
            }),
        }
    }
}

impl FindingThreshold {
    /// Sets all thresholds that were given; of two for one threshold the last counts.
    pub fn take_all(given: &[Self], settings: &mut Settings) {
        for threshold in given {
            match threshold {
                Self::Age(age) => ThresholdSetting::take_all(&[*age], settings),
                Self::Free(share) => settings.least_free = *share,
            }
        }
    }
}

/// Threshold and its duration, parsed from `NAME=DURATION`.
#[derive(Debug, Clone, Copy)]
pub struct ThresholdSetting(pub Threshold, pub Duration);

impl FromStr for ThresholdSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, duration) =
            text.split_once('=').ok_or("expected NAME=DURATION, such as stuck=2h")?;
        let threshold = Threshold::parse(name).ok_or_else(|| {
            let names: Vec<_> = Threshold::ALL.into_iter().map(Threshold::name).collect();
            format!("unknown threshold {name:?}; known are {}", names.join(", "))
        })?;
        Ok(Self(threshold, parse_duration(duration)?))
    }
}

impl ThresholdSetting {
    /// Sets all thresholds that were given; of two for one threshold the last counts.
    pub fn take_all(given: &[Self], settings: &mut Settings) {
        for Self(threshold, duration) in given {
            settings.thresholds.set(*threshold, *duration);
        }
    }
}

/// Whether a look may be incomplete.
#[derive(Debug, Args)]
pub struct GapArgs {
    /// Exit with 0 instead of 4 where something could not be read
    #[arg(long)]
    allow_gaps: bool,
}

impl GapArgs {
    /// Returns the exit code, which is that of success for a gap that is allowed.
    pub const fn settle(&self, exit: Exit) -> Exit {
        match exit {
            Exit::Incomplete if self.allow_gaps => Exit::Done,
            other => other,
        }
    }
}

/// Where the record of kept backends is, for commands that read it.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Find the record of kept backend volumes there
    #[arg(long, value_name = "NAMESPACE", default_value = Recording::NAMESPACE, value_parser = namespace)]
    record_namespace: String,
}

impl RecordArgs {
    /// Sets the namespace of the record in the settings, whatever else they say of records.
    pub fn take_into(&self, settings: &mut Settings) {
        settings.recording.namespace = self.record_namespace.as_str().into();
    }
}

/// Where the journal is.
#[derive(Debug, Default, Args)]
pub struct JournalPlaceArgs {
    /// Use the journal in the cluster [default: kubectl-storage-journal]
    #[arg(long, value_name = "NAMESPACE", default_missing_value = JOURNAL_NAMESPACE,
          num_args = 0..=1, require_equals = true, value_parser = namespace)]
    cluster_journal: Option<String>,
}

impl JournalPlaceArgs {
    /// Returns the number of an entry that the user names, in this place.
    ///
    /// # Errors
    /// When it is an entry of the other place.
    pub fn entry(&self, asked: Option<AskedEntry>) -> Result<Option<u64>, Failure> {
        let place = self.namespace().map_or(JournalPlace::Machine, JournalPlace::Cluster);
        let found = asked.map(|it| it.within(&place)).transpose();
        Ok(found.map_err(|error| Failure::usage(error.to_string()))?.map(|it| it.sequence))
    }

    /// Sets the place of the journal in the settings, whatever else they say of records.
    pub fn take_into(&self, settings: &mut Settings) {
        settings.recording.cluster_journal = self.namespace();
    }

    /// Returns the namespace of the journal in the cluster; `None` for the file of this machine.
    pub fn namespace(&self) -> Option<Text> {
        self.cluster_journal.as_deref().map(Text::from)
    }
}

/// The user's word about storage that a driver is to delete.
#[derive(Debug, Args)]
pub struct StorageArgs {
    /// Assert that nothing else uses the storage of this pv/NAME or driver
    #[arg(long, value_name = "PV|DRIVER", value_parser = volume_or_driver)]
    backend_exclusive: Vec<String>,
    /// Assert that snapshots destroyed with a volume are not needed
    #[arg(long)]
    destroy_snapshots: bool,
    #[command(flatten)]
    beside: BesideArgs,
}

impl StorageArgs {
    /// Returns the flags as they were typed.
    pub fn typed(&self) -> Vec<String> {
        let quoted = crate::facts::quoted;
        let Self { backend_exclusive, destroy_snapshots, beside } = self;
        let exclusive = backend_exclusive.iter();
        let exclusive = exclusive.map(|it| format!("--backend-exclusive {}", quoted(it)));
        let snapshots = destroy_snapshots.then(|| "--destroy-snapshots".to_owned());
        let clusters = beside.beside.iter().map(|it| format!("--beside {}", quoted(it)));
        let all = beside.all_clusters.then(|| "--all-clusters".to_owned());
        exclusive.chain(snapshots).chain(clusters).chain(all).collect()
    }

    /// Sets the assertions in the settings.
    pub fn take_into(&self, settings: &mut Settings) {
        let exclusive = self.backend_exclusive.iter();
        settings.backend_exclusive = exclusive.map(|it| it.as_str().into()).collect();
        settings.destroy_snapshots = self.destroy_snapshots;
        self.beside.take_into(settings);
    }
}

/// Clusters that are read beside the one that is changed.
#[derive(Debug, Args)]
pub struct BesideArgs {
    /// Refuse what these clusters name: contexts, patterns, NAME=DUMP
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',')]
    beside: Vec<String>,
    /// Assert that no cluster but these can name the same storage
    #[arg(long, requires = "beside")]
    all_clusters: bool,
}

impl BesideArgs {
    /// Puts the flags into the settings, which a saved plan keeps.
    pub fn take_into(&self, settings: &mut Settings) {
        let clusters = self.beside.iter().map(|it| Text::from(&**it)).collect();
        settings.beside = Beside { clusters, are_all: self.all_clusters };
    }
}

/// Parses `pv/NAME`, under any of kubectl's names of the kind, or the name of a driver or provisioner.
fn volume_or_driver(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((kind, name)) if Kind::parse_resource(kind) == Some(Kind::PersistentVolume) => {
            let name = plain_name(name).ok_or("not a valid name of a volume")?;
            Ok(format!("pv/{name}"))
        }
        _ if text.is_empty() || text.chars().any(char::is_whitespace) => {
            Err("expected pv/NAME or the name of a driver".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

/// Parses a namespace: one valid name.
pub fn namespace(text: &str) -> Result<String, String> {
    match (is_namespace_name(text), text.contains(',')) {
        (true, _) => Ok(text.to_owned()),
        (false, true) => Err("this command takes one namespace".to_owned()),
        (false, false) => Err("not a valid name of a namespace".to_owned()),
    }
}

/// Parses `NAMESPACE/NAME`, of a Secret or a service account. The contents of a Secret are never read, but RBAC knows
/// no smaller right than `get`.
pub fn secret(text: &str) -> Result<(String, String), String> {
    let plain = |part: &str| {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        !part.is_empty() && part.chars().all(allowed)
    };
    match text.split_once('/') {
        Some((namespace, name)) if plain(namespace) && plain(name) => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("expected NAMESPACE/NAME".to_owned()),
    }
}

/// Parses the name of a reconciler.
pub fn reconciler() -> impl TypedValueParser<Value = ReconcilerName> {
    PossibleValuesParser::new(ReconcilerName::ALL.map(ReconcilerName::name))
        .try_map(|name| ReconcilerName::parse(&name).ok_or("no such reconciler"))
}

/// Refuses a path of `--sort-by`.
pub fn sort_refused(error: &SortError) -> Failure {
    let hint = match error {
        SortError::Nowhere { what, near, .. } => {
            did_you_mean(near).or_else(|| Some(format!("`-o json` shows the fields of {what}s")))
        }
        SortError::Malformed(_) => None,
    };
    Failure::usage(format!("invalid --sort-by: {error}")).hint(hint)
}

/// Parses `-o` of a command that prints in these formats; `refusal` words the error for others, which it gets quoted.
///
/// # Errors
/// When it is no format, or another one.
pub fn format(
    output: &str,
    known: &[Format],
    refusal: impl FnOnce(&str) -> String,
) -> Result<Format, Failure> {
    let format: Format =
        output.parse().map_err(|error: FormatError| Failure::usage(error.to_string()))?;
    match known.contains(&format) {
        true => Ok(format),
        false => Err(Failure::usage(refusal(&format!("{output:?}")))),
    }
}

/// Returns the candidates for `--threshold`.
pub fn threshold_candidates() -> ArgValueCandidates {
    ArgValueCandidates::new(completion::thresholds)
}

/// Returns the scope to which `-n` and `-l` narrow.
///
/// # Errors
/// When the selector does not parse.
pub fn scope<'a>(
    namespaces: impl IntoIterator<Item = &'a str>,
    selector: Option<&str>,
) -> Result<Scope, Failure> {
    let selector = selector.map(Selector::parse).transpose();
    Ok(Scope {
        namespaces: namespaces.into_iter().map(Text::from).collect(),
        selector: selector.map_err(|error| Failure::usage(error.to_string()))?.unwrap_or_default(),
        ..Scope::default()
    })
}

/// Returns the scope of a command that changes what it selects, and refuses an empty selector.
///
/// # Errors
/// When the selector does not parse, or is empty: a variable that a script did not set would select everything.
pub fn narrowed_scope<'a>(
    namespaces: impl IntoIterator<Item = &'a str>,
    selector: Option<&str>,
) -> Result<Scope, Failure> {
    let scope = scope(namespaces, selector)?;
    if selector.is_some() && scope.selector.is_empty() {
        return Err(Failure::usage("the selector of -l is empty, and would select everything")
            .hint(Some("leave out -l where everything is meant")));
    }
    Ok(scope)
}

/// Parses `KIND/NAME`, of one of these kinds.
///
/// # Errors
/// When it is of another kind, or no name.
pub fn typed_object(text: &str, kinds: &[Kind]) -> Result<(Kind, String), Failure> {
    let known: Vec<_> = kinds.iter().map(|kind| format!("{}/NAME", kind.short())).collect();
    let expected = || Some(format!("expected {}", known.join(" or ")));
    let shown = format!("\"{}\"", escape_control(text));
    let Some((resource, name)) = text.split_once('/') else {
        let typed = |kind: &Kind| plain_name(text).map(|it| format!("{}/{it}", kind.short()));
        let meant: Option<Vec<_>> = kinds.iter().map(typed).collect();
        let meant = meant.and_then(|it| did_you_mean(&it));
        return Err(Failure::usage(format!("{shown} lacks a kind")).hint(meant.or_else(expected)));
    };
    let kind = Kind::parse_resource(resource).filter(|kind| kinds.contains(kind));
    let Some(kind) = kind else {
        return Err(Failure::usage(format!(
            "{shown} is of a kind that this command does not \
                                    support"
        ))
        .hint(expected()));
    };
    let name = plain_name(name).ok_or_else(|| {
        Failure::usage(format!("{shown} contains no valid name")).hint(expected())
    })?;
    Ok((kind, name))
}

/// Parses the objects that were named, each once.
///
/// # Errors
/// When one is of another kind, no name, or named twice.
pub fn typed_objects(texts: &[String], kinds: &[Kind]) -> Result<Vec<(Kind, String)>, Failure> {
    if let [kind, name, ..] = texts
        && let Some(kind) = Kind::parse_resource(kind).filter(|it| kinds.contains(it))
        && let Some(name) = plain_name(name)
    {
        let told = "the kind stands before each name".to_owned();
        return Err(
            Failure::usage(told).hint(Some(format!("did you mean {}/{name}?", kind.short())))
        );
    }
    let mut named = Vec::new();
    for text in texts {
        let (kind, name) = typed_object(text, kinds)?;
        if named.contains(&(kind, name.clone())) {
            return Err(Failure::usage(format!("{}/{name} is given twice", kind.short())));
        }
        named.push((kind, name));
    }
    Ok(named)
}

/// Parses a name, with or without the kind before it.
///
/// # Errors
/// When it is of another kind, or no name.
pub fn object_name(text: &str, kind: Kind) -> Result<String, Failure> {
    if text.contains('/') {
        return typed_object(text, &[kind]).map(|(_, name)| name);
    }
    plain_name(text)
        .ok_or_else(|| Failure::usage(format!("\"{}\" is not a valid name", escape_control(text))))
}

fn plain_name(name: &str) -> Option<String> {
    is_object_name(name).then(|| name.to_owned())
}

/// Returns the failure that no rule has an id, with the one that may have been meant.
pub fn unknown_rule(id: &str) -> Failure {
    const LIST: &str = "`explain` without an id lists all findings";
    let near = nearest(id, rules::all().map(|rule| rule.id.to_owned()));
    let hint = did_you_mean(&near).map_or(LIST.to_owned(), |meant| format!("{meant} {LIST}"));
    Failure::usage(format!("unknown finding {id:?}")).hint(Some(hint))
}
