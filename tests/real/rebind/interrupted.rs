//! `kill -9` between the steps, others who create the claim first, and two people at once.

use serde_json::json;

use super::{Left, bound_to_each_other, detail, driver, here, intact, rebind, words, written};
use crate::support::{Admin, Fault, Held, Proxy, Run, Running, Scenario, Told, claim, eventually};

fn through(admin: &Admin, proxy: &Proxy, args: &[&str]) -> Run {
    let run = admin.by(proxy.kubeconfig(), &words(&rebind(args)));
    run.env("XDG_STATE_HOME", admin.home.path())
}

/// Begins a run and waits until it is held at the creation of the claim.
fn held_at_the_claim<'a>(admin: &Admin, proxy: &'a Proxy, args: &[&str]) -> (Running, Held<'a>) {
    let create = Fault::hold().on("POST", "/persistentvolumeclaims$").real();
    let held = proxy.hold(create);
    let running = through(admin, proxy, args).start();
    held.wait();
    (running, held)
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_run_that_was_killed_after_the_reservation_is_continued() {
    let on = Scenario::on(here());
    let (admin, left, proxy) = (Admin::of(&on), Left::on(&on, driver()), on.cluster.proxy());
    let (running, held) = held_at_the_claim(&admin, &proxy, &[&left.object]);
    running.kill();
    drop(held);
    proxy.clear();
    on.wait_phase(&left.object, "Available");
    let reserved = on.read(&left.object);
    assert_eq!(reserved["spec"]["claimRef"]["name"], "data");
    assert!(reserved["spec"]["claimRef"].get("uid").is_none(), "{reserved:#}");

    // The claim may have been created by the request that was on its way.
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&left.object]))).ends(0);
    let sent = written(&admin, mark);
    assert!(sent.iter().all(|it| it == "create persistentvolumeclaims data"), "{sent:?}");
    assert!(told.stderr.contains("of the journal") || sent.is_empty(), "{}", told.stderr);
    bound_to_each_other(&on, &left.name, "data");
    intact(driver(), &left.handle);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_run_that_was_killed_before_the_reservation_has_changed_nothing() {
    let on = Scenario::on(here());
    let (admin, left, proxy) = (Admin::of(&on), Left::on(&on, driver()), on.cluster.proxy());
    let held = proxy.hold(Fault::hold().on("PATCH", "/persistentvolumes/").real());
    let running = through(&admin, &proxy, &[&left.object]).start();
    held.wait();
    running.kill();
    drop(held);
    proxy.clear();
    let told = admin.run(&words(&rebind(&[&left.object]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    bound_to_each_other(&on, &left.name, "data");
    intact(driver(), &left.handle);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_claim_that_another_client_creates_meanwhile_is_taken_if_it_fits() {
    let on = Scenario::on(here());
    let (admin, left, proxy) = (Admin::of(&on), Left::on(&on, driver()), on.cluster.proxy());
    let (running, held) = held_at_the_claim(&admin, &proxy, &[&left.object]);
    // As a StatefulSet does, without spec.volumeName.
    on.create(&claim("data", &driver().class_retain));
    held.release();
    let told = Told::of(running.finish()).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    bound_to_each_other(&on, &left.name, "data");
    intact(driver(), &left.handle);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_claim_of_another_client_that_does_not_fit_is_said() {
    let on = Scenario::on(here());
    let (admin, left, proxy) = (Admin::of(&on), Left::on(&on, driver()), on.cluster.proxy());
    let (running, held) = held_at_the_claim(&admin, &proxy, &[&left.object]);
    let mut large = claim("data", &driver().class_retain);
    large["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
    on.create(&large);
    let other = on.bound("data");
    assert_ne!(other, left.name);
    held.release();
    let told = Told::of(running.finish()).ends(6);
    let said = detail(&told);
    assert!(said.contains(&format!("which is bound to pv/{other}")), "{said}");
    assert!(said.contains("remains reserved"), "{said}");
    intact(driver(), &left.handle);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn of_two_people_one_wins_and_the_other_leaves_nothing_behind() {
    let on = Scenario::on(here());
    let (left, proxy) = (Left::on(&on, driver()), on.cluster.proxy());
    let slow = Admin::named(&on, "slow", &["--as-group", "system:masters"]);
    let quick = Admin::named(&on, "quick", &["--as-group", "system:masters"]);
    let held = proxy.hold(Fault::hold().on("PATCH", "/persistentvolumes/").real());
    let running = through(&slow, &proxy, &[&left.name, "--to", "slow", "-n", &on.name]).start();
    held.wait();
    let told = quick.run(&words(&rebind(&[&left.name, "--to", "quick", "-n", &on.name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    held.release();
    let told = Told::of(running.finish()).ends(5);
    assert_eq!(told.outcomes("stale"), [&*left.name], "{:#}", told.json);
    bound_to_each_other(&on, &left.name, "quick");
    assert!(on.get("pvc/slow").is_none(), "no stray claim");
    eventually("the volume stays bound", || on.read(&left.object)["status"]["phase"] == "Bound");
    intact(driver(), &left.handle);
}
