//! `Environment`: the few environment variables of a container that are read.

use bytes::{Buf, BufMut};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, skip_field, string},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IgnoredAny};

use super::slim::only_objects;
use crate::drivers::UNREAD;

/// The variables that are read: they name a provisioner, or its place, or say how it works. All
/// others may hold secrets, as may every variable whose value comes from elsewhere.
const READ: [&str; 10] = [
    "CLUSTER_ID",
    "CSI_DRIVER_NAME",
    "DISK_DETACH_BEFORE_DELETE",
    "DRIVER_NAME",
    "ENABLE_LEADER_ELECTION",
    "ENABLE_NAS_SUBPATH_FINALIZER",
    "LEADER_ELECTION_ENABLED",
    "NFS_PATH",
    "NFS_SERVER",
    "PROVISIONER_NAME",
];

/// The variables by which a driver marks the disks of its cluster (semantics#cluster-identity).
const OF_CLUSTER: [&str; 2] = ["CLUSTER_NAME", "HCLOUD_VOLUME_EXTRA_LABELS"];

fn is_read(name: &str) -> bool {
    READ.contains(&name) || OF_CLUSTER.contains(&name)
}

/// `env` of a container: those variables that are read and whose value is literal.
///
/// In protobuf the messages of all variables are merged into this one: each begins with its name.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: Vec<(String, String)>,
    /// Whether the last text that was read is the name of a variable that is read.
    open: bool,
}

/// A variable as JSON writes it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
struct Variable {
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default, skip_serializing)]
    value_from: Option<IgnoredAny>,
}

only_objects!(Variable);

impl Environment {
    /// Returns the variables of provisioners, as `NAME=value`.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let own = self.set().filter(|(name, _)| READ.contains(&&**name));
        own.map(|(name, value)| format!("{name}={value}"))
    }

    /// Returns the variables by which a driver marks the disks of its cluster. The value of one that comes from
    /// elsewhere is [`UNREAD`].
    pub fn of_cluster(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let known = |name: &str| OF_CLUSTER.into_iter().find(|it| *it == name);
        self.set().filter_map(move |(name, value)| Some((known(name)?, &**value)))
    }

    /// Removes the variables by which a driver marks the disks of its cluster: they are those of a container of another
    /// program.
    pub fn forget_cluster(&mut self) {
        self.variables.retain(|(name, _)| READ.contains(&&**name));
    }

    /// Returns the variables with a literal value.
    fn set(&self) -> impl Iterator<Item = &(String, String)> {
        self.variables.iter().filter(|(_, value)| !value.is_empty())
    }
}

impl PartialEq for Environment {
    fn eq(&self, other: &Self) -> bool {
        self.set().eq(other.set())
    }
}

impl Message for Environment {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        for (name, value) in self.set() {
            string::encode(1, name, buf);
            string::encode(2, value, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => {
                let mut name = String::new();
                string::merge(wire_type, &mut name, buf, ctx)?;
                self.open = is_read(&name);
                if self.open {
                    self.variables.push((name, String::new()));
                }
                Ok(())
            }
            2 if self.open => match self.variables.last_mut() {
                Some((_, value)) => string::merge(wire_type, value, buf, ctx),
                None => skip_field(wire_type, tag, buf, ctx),
            },
            _ => {
                if tag == 3
                    && self.open
                    && let Some((name, value)) = self.variables.last_mut()
                    && OF_CLUSTER.contains(&&**name)
                {
                    UNREAD.clone_into(value);
                }
                skip_field(wire_type, tag, buf, ctx)
            }
        }
    }

    fn encoded_len(&self) -> usize {
        let one = |(name, value): &(String, String)| {
            string::encoded_len(1, name) + string::encoded_len(2, value)
        };
        self.set().map(one).sum()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Serialize for Environment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.set()
                .map(|(name, value)| (name.clone(), Some(value.clone())))
                .map(|(name, value)| Variable { name, value, value_from: None }),
        )
    }
}

impl<'de> Deserialize<'de> for Environment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<Variable>::deserialize(deserializer)?;
        let read = all.into_iter().filter_map(|it| {
            let elsewhere = it.value_from.is_some() && OF_CLUSTER.contains(&&*it.name);
            let value = if elsewhere { Some(UNREAD.to_owned()) } else { it.value };
            let value = value.filter(|value| !value.is_empty())?;
            is_read(&it.name).then_some((it.name, value))
        });
        Ok(Self { variables: read.collect(), open: false })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Clone, PartialEq, Message)]
    struct Upstream {
        #[prost(message, repeated, tag = "7")]
        env: Vec<UpstreamVariable>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct UpstreamVariable {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(string, tag = "2")]
        value: String,
        #[prost(message, optional, tag = "3")]
        value_from: Option<crate::objects::slim::Present>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Ours {
        #[prost(message, required, tag = "7")]
        env: Environment,
    }

    fn upstream(name: &str, value: &str) -> UpstreamVariable {
        UpstreamVariable { name: name.into(), value: value.into(), value_from: None }
    }

    /// That a variable is set matters, although its value is that of a ConfigMap or a Secret.
    #[test]
    fn of_a_variable_that_names_the_cluster_it_is_kept_that_its_value_comes_from_elsewhere() {
        let mut elsewhere = upstream("HCLOUD_VOLUME_EXTRA_LABELS", "");
        elsewhere.value_from = Some(crate::objects::slim::Present {});
        let env = vec![
            upstream("CLUSTER_NAME", "prod"),
            upstream("CLUSTER_NAMES", "never"),
            elsewhere,
            upstream("DRIVER_NAME", "d.example"),
        ];
        let ours = Ours::decode(&*Upstream { env }.encode_to_vec()).expect("it is protobuf").env;
        let of_json: Environment = serde_json::from_value(json!([
            {"name": "CLUSTER_NAME", "value": "prod"},
            {"name": "CLUSTER_NAMES", "value": "never"},
            {"name": "HCLOUD_VOLUME_EXTRA_LABELS", "valueFrom": {"configMapKeyRef": {"name": "never", "key": "never"}}},
            {"name": "DRIVER_NAME", "value": "d.example", "valueFrom": null},
        ]))
        .expect("it is an environment");
        assert_eq!(ours, of_json);
        let told: Vec<_> = ours.of_cluster().collect();
        assert_eq!(told, [("CLUSTER_NAME", "prod"), ("HCLOUD_VOLUME_EXTRA_LABELS", UNREAD)]);
        // They say nothing of a provisioner.
        assert_eq!(ours.texts().collect::<Vec<_>>(), ["DRIVER_NAME=d.example"]);
        let written = serde_json::to_string(&ours).expect("it can be written");
        assert!(!written.contains("never"), "{written}");
        let again: Environment = serde_json::from_str(&written).expect("what is written is read");
        assert_eq!(again, ours);
        let mut forgotten = ours;
        forgotten.forget_cluster();
        assert_eq!(forgotten.of_cluster().count(), 0);
        assert_eq!(forgotten.texts().count(), 1);
    }

    #[test]
    fn only_literal_values_of_known_names_are_kept() {
        let mut secret = upstream("DRIVER_NAME", "");
        secret.value_from = Some(crate::objects::slim::Present {});
        let env = vec![
            upstream("AWS_SECRET", "never"),
            upstream("PROVISIONER_NAME", "example.com/nfs"),
            upstream("PASSWORD", "never"),
            secret,
            upstream("TOKEN", "never"),
            upstream("NFS_SERVER", "10.0.0.1"),
        ];
        let bytes = Upstream { env }.encode_to_vec();
        let ours = Ours::decode(&*bytes).expect("it is protobuf");
        let expected = ["PROVISIONER_NAME=example.com/nfs", "NFS_SERVER=10.0.0.1"];
        assert_eq!(ours.env.texts().collect::<Vec<_>>(), expected);
        let again = Ours::decode(&*ours.encode_to_vec()).expect("what is written can be read");
        assert_eq!(again.env.texts().collect::<Vec<_>>(), expected);
        assert_eq!(ours.encode_to_vec().len(), ours.encoded_len());
        let written = serde_json::to_value(&ours.env).expect("it can be written");
        let listed = json!([
            {"name": "PROVISIONER_NAME", "value": "example.com/nfs"},
            {"name": "NFS_SERVER", "value": "10.0.0.1"},
        ]);
        assert_eq!(written, listed);

        let env = json!([
            {"name": "AWS_SECRET", "value": "never"},
            {"name": "PROVISIONER_NAME", "value": "example.com/nfs"},
            {"name": "DRIVER_NAME", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
            {"name": "NFS_SERVER", "value": "10.0.0.1"},
            {"name": "NFS_PATH", "value": null},
            {},
        ]);
        let env: Environment = serde_json::from_value(env).expect("it is an environment");
        assert_eq!(env.texts().collect::<Vec<_>>(), expected);
    }
}
