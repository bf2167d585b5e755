//! What storage there is, and what a deletion touches: written from what drivers document, without any of the code
//! under test.
//!
//! A reference in Kubernetes does not always say which storage it names: a server has several names, a disk may be named
//! without its zone, the directory of an access point stands in the cloud only. Whatever the objects leave open is
//! decided by a [`World`]; in each of them, a reference names pieces of storage, and a piece is a path from the machine
//! or the cloud down to a disk or a directory. What may be deleted must touch nothing in *any* world.

/// A piece of storage: what it is in comes first.
pub(super) type Piece = Vec<String>;

/// Whether one is the other or is inside it.
fn touch(one: &Piece, other: &Piece) -> bool {
    one.iter().zip(other).all(|(one, other)| one == other)
}

pub(super) fn piece(parts: &[&str]) -> Piece {
    parts.iter().map(|it| (*it).to_owned()).collect()
}

/// The components of a path, however it is written.
pub(super) fn components(path: &str) -> impl Iterator<Item = String> {
    path.split('/').filter(|it| !it.is_empty() && *it != ".").map(str::to_owned)
}

/// Names of NFS servers: which of them are one machine is not to be seen.
pub(super) const SERVERS: [&str; 3] = ["nfs.example.com", "10.0.0.5", "nfs"];

pub(super) const ZONES: [&str; 2] = ["us-central1-a", "us-central1-b"];
pub(super) const REGION: &str = "us-central1";
/// The number may be that of the project.
pub(super) const PROJECTS: [&str; 2] = ["acme", "714231"];
pub(super) const ACCESS_POINTS: [&str; 2] = ["fsap-0123456789abcdef0", "fsap-0123456789abcdef1"];
/// Two names of what may be one Ceph cluster.
pub(super) const CEPHS: [&str; 2] = ["rook-ceph", "b9127830-b0cc-4e34-aa47-9d1a2e9949a8"];
pub(super) const ACCOUNTS: [&str; 2] = ["acmeone", "acmetwo"];
pub(super) const NODES: [&str; 2] = ["node-1", "node-2"];

/// What the objects do not say.
#[derive(Debug, Clone)]
pub(super) struct World {
    /// The machine that each name of a server leads to.
    machines: [usize; 3],
    /// The zone, or the region, of a disk that is named without one.
    zone: usize,
    /// The project of a disk that is named without one, and that of the number.
    project: usize,
    number_is_name: bool,
    /// The directories of the access points.
    roots: [&'static str; 2],
    one_ceph: bool,
    /// The storage account that a Secret of another name is about.
    account: usize,
    handles: Handles,
}

/// What the handles of an unknown driver mean.
#[derive(Debug, Clone, Copy)]
enum Handles {
    Ids,
    IdsInAnyCase,
    Paths,
    /// Nothing: something else says which storage is meant.
    Nothing,
}

/// All worlds that differ in what two references could have in common.
///
/// `trusted`: handles of unknown drivers are names of disks (semantics#place says when that may be believed).
pub(super) fn worlds(trusted: bool) -> Vec<World> {
    const MACHINES: [[usize; 3]; 5] = [[0, 1, 2], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 0]];
    const ROOTS: [&str; 4] = ["/", "/data", "/data/one", "/other"];
    let mut handles = vec![Handles::Ids, Handles::IdsInAnyCase, Handles::Paths];
    if !trusted {
        handles.push(Handles::Nothing);
    }
    // Five partitions of servers with each of sixteen pairs of directories; the rest in between.
    let world = |index: usize| World {
        machines: MACHINES[index % 5],
        zone: index % 3,
        project: index / 2 % 2,
        number_is_name: (index / 4).is_multiple_of(2),
        roots: [ROOTS[index % 16 / 4], ROOTS[index % 4]],
        one_ceph: index.is_multiple_of(2),
        account: index % 2,
        handles: handles[index % handles.len()],
    };
    (0..80).map(world).collect()
}

/// What a reference names.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Names {
    /// What the reference says is all there is to know.
    Piece(Piece),
    /// A directory of an NFS server.
    Export { server: String, path: String },
    /// A Google disk; without a project, without a zone.
    Disk { project: Option<String>, zone: Zone, disk: String },
    /// A directory of an access point of an EFS file system: the access point, and what is in it.
    AccessPoint { file_system: String, point: String, path: String },
    /// The access point alone, without its directory.
    BareAccessPoint(String),
    /// Something of a Ceph cluster.
    Ceph { cluster: String, path: Piece },
    /// Something of a Ceph cluster of which not even the name is told.
    AnyCeph(Piece),
    /// A share or a folder of an Azure account; `None`: of the account that a Secret holds.
    Share { account: Option<String>, path: String },
    /// A path of a node; `None`: of whichever node.
    Path { node: Option<String>, path: String },
    /// What an unknown driver understands by a handle.
    Handle { driver: String, handle: String },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Zone {
    Named(String),
    Region(String),
    Unspecified,
    /// Every disk of that name in all zones.
    All,
}

impl Names {
    /// The pieces of storage that it names in a world.
    pub(super) fn pieces(&self, world: &World) -> Vec<Piece> {
        match self {
            Self::Piece(it) => vec![it.clone()],
            Self::Export { server, path } => vec![export(world, server, path)],
            Self::Disk { project, zone, disk } => {
                let project = match project.as_deref() {
                    Some(name) if name == PROJECTS[1] && world.number_is_name => PROJECTS[0],
                    Some(name) => name,
                    None if world.number_is_name => PROJECTS[0],
                    None => PROJECTS[world.project],
                };
                let of = |zone: &str| piece(&["google", project, zone, disk]);
                match zone {
                    Zone::Named(zone) | Zone::Region(zone) => vec![of(zone)],
                    Zone::Unspecified => vec![of([ZONES[0], ZONES[1], REGION][world.zone])],
                    Zone::All => ZONES.map(of).to_vec(),
                }
            }
            Self::AccessPoint { file_system, point, path } => {
                let index = ACCESS_POINTS.iter().position(|it| it == point);
                let root = world.roots[index.expect("because there are two")];
                let directory = efs(file_system, &format!("{root}/{path}"));
                vec![access_point(point), directory]
            }
            Self::BareAccessPoint(point) => vec![access_point(point)],
            Self::Ceph { cluster, path } => {
                let cluster = if world.one_ceph { CEPHS[0] } else { cluster };
                vec![[piece(&["ceph", cluster]), path.clone()].concat()]
            }
            Self::AnyCeph(path) => {
                let cluster = if world.one_ceph { CEPHS[0] } else { CEPHS[world.account] };
                vec![[piece(&["ceph", cluster]), path.clone()].concat()]
            }
            Self::Share { account, path } => {
                let account = account.as_deref().unwrap_or(ACCOUNTS[world.account]);
                let mut share = piece(&["azure files", &account.to_lowercase()]);
                share.extend(components(path));
                vec![share]
            }
            Self::Path { node, path } => {
                let nodes = node.iter().map(String::as_str);
                let nodes: Vec<_> = if node.is_some() { nodes.collect() } else { NODES.to_vec() };
                let of = |node: &str| {
                    let mut found = piece(&["node", node]);
                    found.extend(components(path));
                    found
                };
                nodes.into_iter().map(of).collect()
            }
            Self::Handle { driver, handle } => {
                let mut found = piece(&["driver", driver]);
                match world.handles {
                    Handles::Ids => found.push(handle.clone()),
                    Handles::IdsInAnyCase => found.push(handle.to_lowercase()),
                    Handles::Paths => {
                        found.extend(handle.split(['/', '#', ':']).map(str::to_owned));
                    }
                    Handles::Nothing => {}
                }
                vec![found]
            }
        }
    }
}

fn access_point(point: &str) -> Piece {
    piece(&["access point", point])
}

fn efs(file_system: &str, path: &str) -> Piece {
    let mut found = piece(&["efs", file_system]);
    found.extend(components(path));
    found
}

/// A directory of a server: an EFS file system has a name in DNS.
fn export(world: &World, server: &str, path: &str) -> Piece {
    if let Some((file_system, rest)) = server.split_once('.')
        && rest.starts_with("efs.")
    {
        return efs(file_system, path);
    }
    let index = SERVERS.iter().position(|it| *it == server).expect("because it is one of them");
    let mut found = piece(&["nfs", &world.machines[index].to_string()]);
    found.extend(components(path));
    found
}

/// What the driver does when it is told to delete a volume.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fate {
    /// It destroys this.
    Destroys(Vec<Names>),
    /// It answers that all is well, and destroys nothing; or nobody is there who deletes such a volume.
    Keeps,
    /// What it does is not known well enough to demand or to forbid it.
    Unknown,
}

/// A volume, as it is.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    /// What is destroyed when it is reclaimed.
    pub fate: Fate,
    /// What is mounted.
    pub mounts: Names,
    /// Whether it was made by hand: reclaimed with a flag only.
    pub is_static: bool,
    /// The layout that everybody has: `gc` has to be of use there.
    pub is_plain: bool,
    /// The folder in which its provisioner makes directories, on nodes.
    pub base: Option<String>,
    /// Who made it.
    pub provisioner: String,
}

/// Another reference to storage.
#[derive(Debug, Clone)]
pub(super) struct Other {
    pub names: Names,
    pub sort: Sort,
    /// Whether its object tells less than what it names: its neighbours may be careful.
    pub is_obscure: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Volume,
    /// An inline volume of a pod or a template.
    Inline,
    /// Such a one of a provisioner, which makes its volumes in it.
    OfProvisioner(&'static str),
}

/// What has to become of a volume that could be reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    /// A plan for it destroys something else, or nothing.
    Never(String),
    /// It is plain, and nothing could be touched.
    Always,
    /// Careful tools may differ.
    Either,
}

/// Decides what has to become of a volume, given all others.
pub(super) fn ruling(volume: &Truth, others: &[Other], worlds: &[World]) -> Ruling {
    let never = |why: &str| Ruling::Never(why.to_owned());
    if volume.is_static {
        return never("made by hand");
    }
    let destroyed = match &volume.fate {
        Fate::Destroys(destroyed) => destroyed,
        Fate::Keeps => return never("nothing would be deleted"),
        Fate::Unknown => return Ruling::Either,
    };
    let mut disputed = false;
    for world in worlds {
        let destroyed: Vec<_> = destroyed.iter().flat_map(|it| it.pieces(world)).collect();
        let mounted = volume.mounts.pieces(world);
        // The directory of an access point stays, which is known.
        let more = |it: &Piece| !mounted.iter().any(|own| is_within(it, own));
        if destroyed.iter().any(more) {
            return Ruling::Never(format!("destroys {destroyed:?}, is {mounted:?} in {world:?}"));
        }
        for other in others {
            for used in other.names.pieces(world) {
                let met = destroyed.iter().find(|it| touch(it, &used));
                if let Some(met) = met
                    && is_use(volume, other, met, &used)
                {
                    let what = format!("{met:?} meets {used:?} of {other:?} in {world:?}");
                    return Ruling::Never(what);
                }
                let (realm, own) = (&used[0], &mounted[0][0]);
                disputed |= other.is_obscure && realm == own;
                // An EFS file system may have another name in DNS.
                disputed |= own == "nfs" && ["efs", "access point"].contains(&&**realm);
                // Beside the whole file system of an access point, one may be careful.
                disputed |= mounted.iter().any(|it| touch(it, &used))
                    && !belongs(volume, other)
                    && !matches!(other.names, Names::AccessPoint { .. })
                    && met.is_none();
            }
        }
    }
    if volume.is_plain && !disputed { Ruling::Always } else { Ruling::Either }
}

fn is_within(one: &Piece, other: &Piece) -> bool {
    one.len() >= other.len() && touch(one, other)
}

/// Whether this is an inline volume of the volume's own provisioner.
fn belongs(volume: &Truth, other: &Other) -> bool {
    matches!(other.sort, Sort::OfProvisioner(name) if name == volume.provisioner)
}

/// Whether what meets is a use.
fn is_use(volume: &Truth, other: &Other, destroyed: &Piece, used: &Piece) -> bool {
    let above = used.len() < destroyed.len();
    if !above || other.sort == Sort::Volume {
        return true;
    }
    // Whoever mounts the root of a node does not use what is in it.
    let base = volume.base.as_deref().map(|it| components(it).count() + 2);
    let is_far_above = base.is_some_and(|base| used.len() < base);
    let is_agent = matches!(other.names, Names::Path { .. }) && is_far_above;
    !is_agent && !belongs(volume, other)
}
