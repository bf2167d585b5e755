//! Backend volumes as objects reference them: driver, handle and attributes, with in-tree sources
//! translated to their CSI driver.

use std::fmt;

use super::Text;

/// A backend volume as its driver is told of it: what `DeleteVolume` gets.
///
/// In-tree sources are translated to the driver they migrate to, as csi-translation-lib does
/// (semantics#backend-volume). Sources other than CSI carry the kind of their source as driver, and
/// everything that makes the path unique, such as the node, in the handle.
///
/// It identifies no storage: two keys may name one disk, and one key a part of what another names.
/// What it names is a [`Place`](crate::drivers::Place).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendKey {
    /// The CSI driver, or the kind of source.
    pub driver: Text,
    /// The volume handle.
    pub handle: Text,
}

impl fmt::Display for BackendKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.driver, self.handle)
    }
}

/// The wanted entries of `volumeAttributes`, and the family as which the driver was recognised where
/// its name does not tell: few volumes have any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Attributes(Option<Box<AttributePairs>>);

/// Boxed twice, so that a row without any holds one word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct AttributePairs(Box<[(Text, Text)]>, Option<&'static str>);

impl Attributes {
    /// Returns the value of a key, whatever its case: some drivers ignore it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.iter();
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.as_ref().map_or(&[][..], |pairs| &pairs.0);
        pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Keeps those with the wanted keys.
    #[must_use]
    pub fn filtered(self, wanted: impl Fn(&str) -> bool) -> Self {
        let family = self.family();
        let pairs = self.0.into_iter().flat_map(|pairs| pairs.0);
        pairs.filter(|(key, _)| wanted(key)).collect::<Self>().with_family(family)
    }

    /// The id of the family as which the driver was recognised by what runs it.
    pub fn family(&self) -> Option<&'static str> {
        self.0.as_ref()?.1
    }

    /// The same, of a driver that was recognised.
    #[must_use]
    pub fn with_family(self, family: Option<&'static str>) -> Self {
        let pairs = self.0.map(|pairs| pairs.0).unwrap_or_default();
        let some = !pairs.is_empty() || family.is_some();
        Self(some.then(|| Box::new(AttributePairs(pairs, family))))
    }
}

impl FromIterator<(Text, Text)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (Text, Text)>>(pairs: I) -> Self {
        let pairs: Box<[_]> = pairs.into_iter().collect();
        Self((!pairs.is_empty()).then(|| Box::new(AttributePairs(pairs, None))))
    }
}

/// Returns the CSI driver that an in-tree provisioner was migrated to
/// (csi-translation-lib 0.36).
pub fn migrated_driver(in_tree: &str) -> Option<&'static str> {
    Some(match in_tree {
        "kubernetes.io/gce-pd" => "pd.csi.storage.gke.io",
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        "kubernetes.io/azure-file" => "file.csi.azure.com",
        "kubernetes.io/vsphere-volume" => "csi.vsphere.vmware.com",
        "kubernetes.io/portworx-volume" => "pxd.portworx.com",
        _ => return None,
    })
}

/// Returns the driver that provisions under a name: the name itself, or the CSI driver to which the
/// in-tree plugin of that name was migrated.
pub fn provisioning_driver(named: &Text) -> Text {
    migrated_driver(named).map_or_else(|| Text::clone(named), Text::from)
}
