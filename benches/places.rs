//! What it costs to tell apart the places of very many volumes on one server.
//!
//! `cargo bench --bench places`; docs/benchmarks.md explains what is measured.

mod measure;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use kubectl_storage::{
    cluster::Dirty,
    dump::Input,
    model::{Kind, Settings},
    rules::Assessor,
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};

use measure::{Verdict, end, mebibytes, resident, say};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much longer directories of one server may take to judge than as many disks.
const AT_MOST: f64 = 1.25;

/// Judges volumes of one NFS server, and as many disks.
#[derive(Debug, Parser)]
struct Args {
    #[arg(long, default_value_t = 100_000)]
    volumes: usize,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("places", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let mut verdict = Verdict::default();
    let (mut took, mut held) = (Vec::new(), Vec::new());
    for (what, source) in [("disks", disk as Source), ("directories", directory)] {
        let file = folder.path().join(format!("{what}.json"));
        write(&file, args.volumes, source)?;
        let before = resident();
        let mut intake = Intake::new(None);
        let began = Instant::now();
        let input = [Input::parse(&file)];
        let options = DumpOptions {
            complete: Kind::ALL.into_iter().collect(),
            kinds: Kind::ALL.to_vec(),
            ..DumpOptions::default()
        };
        documents::read(&input, &mut io::empty(), &options, &mut intake)
            .map_err(io::Error::other)?;
        let read = began.elapsed();
        let grown = resident().saturating_sub(before);
        let best = (0..5).map(|_| judged(&intake)).min().unwrap_or_default();
        say(&format!(
            "{} {what}: read in {:.2} s, rows and indexes {}, judged in {:.3} s",
            args.volumes,
            read.as_secs_f64(),
            mebibytes(grown),
            best.as_secs_f64()
        ));
        took.push(best.as_secs_f64());
        // Memory that is given back would be taken by the next ones, and not be counted.
        held.push(intake);
    }
    if let [disks, directories] = took[..] {
        let ratio = directories / disks;
        say(&format!("directories against disks: {ratio:.2}"));
        verdict.bound(&format!("directories take at most {AT_MOST} of disks"), ratio <= AT_MOST);
    }
    Ok(verdict.exit())
}

fn judged(intake: &Intake) -> Duration {
    let settings = Settings::default();
    let began = Instant::now();
    let mut assessor = Assessor::default();
    assessor.update(&intake.cluster, &settings, Dirty::everything());
    let findings = assessor.findings(&intake.cluster, &settings).count();
    assert_ne!(findings, usize::MAX, "the work is not left out");
    began.elapsed()
}

/// The source and the attributes of a volume.
type Source = fn(&str) -> String;

fn disk(name: &str) -> String {
    format!(r#"{{"driver":"ebs.csi.aws.com","volumeHandle":"vol-{name}"}}"#)
}

fn directory(name: &str) -> String {
    format!(
        r#"{{"driver":"nfs.csi.k8s.io","volumeHandle":"nas.example.com#export/team#pvc-{name}##","volumeAttributes":{{"server":"nas.example.com","share":"/export/team","subdir":"pvc-{name}"}}}}"#
    )
}

fn write(path: &Path, count: usize, source: Source) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    write!(out, r#"{{"apiVersion":"v1","kind":"PersistentVolumeList","items":["#)?;
    for index in 0..count {
        let name = format!("{index:017x}");
        let comma = if index == 0 { "" } else { "," };
        write!(
            out,
            r#"{comma}{{"metadata":{{"name":"pvc-{name}","uid":"00000000-0000-4000-8000-{index:012x}","resourceVersion":"1","creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["kubernetes.io/pv-protection"],"annotations":{{"pv.kubernetes.io/provisioned-by":"d"}}}},"spec":{{"accessModes":["ReadWriteOnce"],"capacity":{{"storage":"10Gi"}},"persistentVolumeReclaimPolicy":"Retain","storageClassName":"c","csi":{}}},"status":{{"phase":"Available","lastPhaseTransitionTime":"2026-01-01T00:00:00Z"}}}}"#,
            source(&name)
        )?;
    }
    writeln!(out, "]}}")?;
    out.flush()
}
