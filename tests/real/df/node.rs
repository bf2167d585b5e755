//! A node with a real kubelet, and volumes that are really mounted on it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{ADDRESS, Cluster, Options, PersistentVolume, Run, Scenario};
use crate::support::{claim, eventually, pod, program, say};

/// The name of the node.
pub(super) const NODE: &str = "node-1";

/// A cluster with one node, whose kubelet is real, for a test that is alone.
pub(super) struct Node {
    pub(super) cluster: Cluster,
    folder: PathBuf,
    processes: Vec<Child>,
}

impl Node {
    /// Starts the kubelet, beside CSI drivers by their names and further arguments.
    pub(super) fn start(drivers: &[(&str, &[&str])]) -> Self {
        let folder = std::env::temp_dir().join("node");
        let root = folder.join("root");
        fs::create_dir_all(&root).expect("because the temporary folder is the test's own");
        let certificate = [folder.join("kubelet.crt"), folder.join("kubelet.key")];
        succeeds(
            Command::new(program("testbed-kubelet")).arg("certificate").arg(&folder).arg(ADDRESS),
        );
        let server_args = [
            format!("--advertise-address={ADDRESS}"),
            // No name of a node leads anywhere.
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            format!("--kubelet-client-certificate={}", certificate[0].display()),
            format!("--kubelet-client-key={}", certificate[1].display()),
        ];
        let cluster = Cluster::start(Options {
            controllers: true,
            server_args: &server_args.each_ref().map(String::as_str),
            ..Options::default()
        });
        let mut node = Self { cluster, folder, processes: Vec::new() };
        let mut kubelet = Command::new(program("testbed-kubelet"));
        kubelet.args(["run", "--node", NODE, "--address", ADDRESS]);
        kubelet.arg("--kubeconfig").arg(node.cluster.kubeconfig());
        kubelet.arg("--credentials").arg(&node.folder).arg("--root").arg(root);
        for (name, args) in drivers {
            let socket = node.start_driver(name, args);
            kubelet.args(["--csi", &format!("{name}={}", socket.display())]);
        }
        node.spawn("kubelet", &mut kubelet);
        eventually("the node is ready", || {
            let ready = |it: &Value| it["type"] == "Ready" && it["status"] == "True";
            let node = node.cluster.get("", &format!("node/{NODE}"));
            node.is_some_and(|it| {
                it["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(ready))
            })
        });
        node
    }

    /// Starts the project's driver, which mounts, and returns its socket.
    fn start_driver(&mut self, name: &str, args: &[&str]) -> PathBuf {
        let socket = self.folder.join(format!("{name}.sock"));
        let mut driver = Command::new(program("testbed-csi-driver"));
        driver.args(["--mount", "--name", name, "--nodes", NODE]).args(args);
        driver.arg("--state").arg(self.driver_state(name)).arg("--socket").arg(&socket);
        self.spawn(name, &mut driver);
        eventually("the driver listens", || socket.exists());
        self.cluster.create(&json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
            "metadata": {"name": name}, "spec": {"attachRequired": false},
        }));
        socket
    }

    /// Starts a process that ends with the node. Its output is in a file that is called like it.
    fn spawn(&mut self, name: &str, command: &mut Command) {
        let log = File::create(self.log(name)).expect("because the folder is the test's own");
        let errors = log.try_clone().expect("because it was opened");
        let command = command.stdin(Stdio::null()).stdout(log).stderr(errors);
        self.processes.push(command.spawn().expect("because the testbed has it"));
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    fn driver_state(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes a volume of a driver, as nobody knows it yet.
    pub(super) fn make(&self, driver: &str, handle: &str) {
        let folder = self.driver_state(driver).join("volumes").join(handle);
        fs::create_dir(folder).expect("because the driver listens");
    }

    /// How often a driver has answered a call.
    pub(super) fn answered(&self, driver: &str, rpc: &str) -> usize {
        let calls = fs::read_to_string(self.driver_state(driver).join("calls.jsonl"));
        let calls = calls.expect("because the driver was called");
        calls
            .lines()
            .filter(|it| it.contains(&format!("\"{rpc}\"")) && it.contains("\"OK\""))
            .count()
    }

    /// Mounts a tmpfs of so many mebibytes, and returns where.
    pub(super) fn tmpfs(&self, name: &str, mebibytes: u64) -> PathBuf {
        let place = self.place(name);
        succeeds(
            Command::new("mount")
                .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "none"])
                .arg(&place),
        );
        place
    }

    /// Makes an ext4 of so many mebibytes in a file, mounts it, and returns where.
    pub(super) fn ext4(&self, name: &str, mebibytes: u64, args: &[&str]) -> PathBuf {
        let (image, place) = (self.image(name, mebibytes), self.place(name));
        succeeds(Command::new("mkfs.ext4").args(["-q", "-F"]).args(args).arg(&image));
        succeeds(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&place));
        place
    }

    /// Makes a block device of so many mebibytes, and returns its path.
    pub(super) fn device(&self, name: &str, mebibytes: u64) -> PathBuf {
        let image = self.image(name, mebibytes);
        let device = succeeds(Command::new("losetup").args(["--find", "--show"]).arg(image));
        PathBuf::from(device.trim())
    }

    fn image(&self, name: &str, mebibytes: u64) -> PathBuf {
        let image = self.folder.join(format!("{name}.img"));
        let file = File::create(&image).expect("because the folder is the test's own");
        file.set_len(mebibytes << 20).expect("because a file may have holes");
        image
    }

    fn place(&self, name: &str) -> PathBuf {
        let place = self.folder.join("mounted").join(name);
        fs::create_dir_all(&place).expect("because the folder is the test's own");
        place
    }

    /// Where the kubelet has mounted the volume of a pod that runs.
    pub(super) fn mounted(&self, on: &Scenario, name: &str) -> PathBuf {
        let pod = on.read(&format!("pod/{name}"));
        let uid = pod["metadata"]["uid"].as_str().expect("because every object has one");
        let volumes = self.folder.join("root/pods").join(uid).join("volumes");
        let volume = on.named(name);
        let local = volumes.join("kubernetes.io~local-volume").join(&volume);
        if local.exists() {
            local
        } else {
            volumes.join("kubernetes.io~csi").join(volume).join("mount")
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.log("kubelet")).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            say(&format!(
                "the end of the log of the kubelet:\n{}",
                lines[lines.len().saturating_sub(60)..].join("\n")
            ));
        }
    }
}

/// Binds a claim to a volume of so many mebibytes, all called `name`, and has a pod on the node use it.
pub(super) fn used(on: &Scenario, name: &str, volume: PersistentVolume, mebibytes: u64) {
    let mut user = bound(on, name, volume, mebibytes);
    user["spec"]["nodeName"] = json!(NODE);
    on.create(&user);
}

/// Binds a claim to a volume, and returns a pod that would use it.
pub(super) fn bound(on: &Scenario, name: &str, volume: PersistentVolume, mebibytes: u64) -> Value {
    let size = format!("{mebibytes}Mi");
    let mut volume = volume.reserved_for(&on.name, name);
    volume.0["spec"]["capacity"]["storage"] = json!(size);
    let mut claim = claim(name, "");
    claim["spec"]["volumeName"] = volume.0["metadata"]["name"].clone();
    claim["spec"]["resources"]["requests"]["storage"] = json!(size);
    let mut user = pod(name, name);
    if volume.0["spec"]["volumeMode"] == "Block" {
        claim["spec"]["volumeMode"] = json!("Block");
        let container = &mut user["spec"]["containers"][0];
        container["volumeDevices"] = json!([{"name": "data", "devicePath": "/dev/data"}]);
        container["volumeMounts"] = json!([]);
    }
    on.create(&volume.0);
    on.create(&claim);
    on.bound(name);
    user
}

/// What df(1) says of a file system.
#[derive(Debug, PartialEq)]
pub(super) struct Df {
    pub(super) size: u64,
    pub(super) used: u64,
    pub(super) available: u64,
    pub(super) inodes: u64,
    pub(super) inodes_used: u64,
    pub(super) percent: String,
    pub(super) inodes_percent: String,
}

impl Df {
    /// Asks df(1).
    pub(super) fn of(path: &Path) -> Self {
        let columns = "--output=size,used,avail,itotal,iused,pcent,ipcent";
        let told = succeeds(Command::new("df").args(["--block-size=1", columns]).arg(path));
        let words: Vec<_> = told.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        let [numbers @ .., percent, inodes_percent] = &*words else { panic!("df(1) says {told}") };
        let numbers: Vec<u64> =
            numbers.iter().map(|it| it.parse().expect("it is a number")).collect();
        let [size, used, available, inodes, inodes_used] = *numbers else {
            panic!("df(1) says {told}")
        };
        Self {
            size,
            used,
            available,
            inodes,
            inodes_used,
            percent: (*percent).to_owned(),
            inodes_percent: (*inodes_percent).to_owned(),
        }
    }
}

/// The command about kubelets that `explain usage` prints, for a node.
pub(super) fn printed_command(node: &str) -> String {
    let command = printed()
        .lines()
        .find(|it| it.contains("kubectl get --raw"))
        .map(str::trim)
        .map(str::to_owned);
    command.expect("because it is printed").replace("NODE", node)
}

/// What `explain usage` prints.
pub(super) fn printed() -> String {
    let ran = Run::of(&["explain", "usage"]).go();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

/// Runs a command of a shell in a folder, with kubectl in the PATH.
pub(super) fn pasted(command: &str, folder: &Path, kubeconfig: &Path) -> std::process::Output {
    let programs = program("kubectl");
    let programs = programs.parent().expect("because it is in a folder");
    let path = std::env::var("PATH").expect("because this is a system with programs");
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("KUBECONFIG", kubeconfig);
    shell.env("HOME", folder).env("PATH", format!("{}:{path}", programs.display()));
    shell.output().expect("because there is a shell")
}

/// Runs a program, which must succeed, and returns what it prints.
pub(super) fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
