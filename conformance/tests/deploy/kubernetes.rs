//! The manifests of `deploy/kubernetes/`. No cluster reads them here: they parse, they agree with each other and with
//! `pmcp`, and the command of the container serves.

use std::process::Output;

use protomcp_conformance::{Launch, Redis, Sandbox, Web};
use serde_json::{Value, json};

use super::deploy;

fn manifest(name: &str) -> Value {
    let text = deploy(&format!("kubernetes/{name}.yaml"));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[track_caller]
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).as_array().unwrap_or_else(|| panic!("{pointer} is a list"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).as_str().unwrap_or_else(|| panic!("{pointer} is a text"))
}

fn number(value: &Value, pointer: &str) -> u64 {
    at(value, pointer).as_u64().unwrap_or_else(|| panic!("{pointer} is a number"))
}

const CONTAINER: &str = "/spec/template/spec/containers/0";

const PROBES: [&str; 3] = ["/startupProbe", "/readinessProbe", "/livenessProbe"];

/// The words of the command.
fn words(container: &Value) -> Vec<&str> {
    list(container, "/args").iter().map(|word| word.as_str().expect("a word is a text")).collect()
}

/// The value of a flag.
fn flag<'a>(words: &[&'a str], name: &str) -> &'a str {
    let value = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {words:?}"))
}

#[test]
fn the_manifests_agree_with_each_other() {
    let deployment = manifest("deployment");
    let labels = at(&deployment, "/spec/template/metadata/labels");
    for (name, kind, selector) in [
        ("deployment", "Deployment", "/spec/selector/matchLabels"),
        ("service", "Service", "/spec/selector"),
        ("pdb", "PodDisruptionBudget", "/spec/selector/matchLabels"),
    ] {
        let manifest = manifest(name);
        assert_eq!((text(&manifest, "/kind"), at(&manifest, selector)), (kind, labels), "{name}");
    }
    let target = json!({
        "apiVersion": at(&deployment, "/apiVersion"), "kind": "Deployment", "name": at(&deployment, "/metadata/name")
    });
    assert_eq!(*at(&manifest("hpa"), "/spec/scaleTargetRef"), target);

    let pod = at(&deployment, "/spec/template/spec");
    let container = at(&deployment, CONTAINER);
    let volumes: Vec<_> = list(pod, "/volumes").iter().map(|volume| text(volume, "/name")).collect();
    for mount in list(container, "/volumeMounts") {
        assert!(volumes.contains(&text(mount, "/name")), "{mount}");
    }
    let ports: Vec<_> =
        list(container, "/ports").iter().map(|port| (text(port, "/name"), number(port, "/containerPort"))).collect();
    let words = words(container);
    let own = [flag(&words, "--port"), flag(&words, "--metrics-addr").trim_start_matches("0.0.0.0:")];
    assert_eq!(
        ports,
        ["mcp", "metrics"].into_iter().zip(own.map(|port| port.parse::<u64>().unwrap())).collect::<Vec<_>>()
    );
    assert_eq!(text(&manifest("service"), "/spec/ports/0/targetPort"), "mcp");
    for probe in PROBES {
        assert_eq!(text(at(container, probe), "/httpGet/port"), "metrics", "{probe}");
    }
    // PMCP_PORT of a service with the name pmcp is a URL, and a setting of pmcp.
    assert_eq!(*at(pod, "/enableServiceLinks"), false);
}

#[test]
fn a_pod_has_the_time_to_end_and_no_privilege() {
    let deployment = manifest("deployment");
    let (pod, container) = (at(&deployment, "/spec/template/spec"), at(&deployment, CONTAINER));
    let words = words(container);
    let seconds = |name| flag(&words, name).strip_suffix('s').and_then(|time| time.parse::<u64>().ok()).expect(name);
    let probe = at(container, "/readinessProbe");
    let seen_after = number(probe, "/periodSeconds") * number(probe, "/failureThreshold");
    assert!(seen_after < seconds("--drain-delay"), "the probe sees it in the delay: {seen_after} s");
    let longest = seconds("--drain-delay") + seconds("--drain-timeout") + 5;
    assert!(longest < number(pod, "/terminationGracePeriodSeconds"), "a pod needs {longest} s");
    for (part, pointer, expected) in [
        (pod, "/securityContext/runAsNonRoot", json!(true)),
        (pod, "/securityContext/seccompProfile/type", json!("RuntimeDefault")),
        (pod, "/automountServiceAccountToken", json!(false)),
        (container, "/securityContext/allowPrivilegeEscalation", json!(false)),
        (container, "/securityContext/readOnlyRootFilesystem", json!(true)),
        (container, "/securityContext/capabilities", json!({"drop": ["ALL"]})),
    ] {
        assert_eq!(*at(part, pointer), expected, "{pointer}");
    }
}

/// The command of the container, at home in a sandbox.
fn launch(container: &Value, redis: &Redis, sandbox: &Sandbox) -> Launch {
    let file = sandbox.copy("py/basics.py");
    let mut command = words(container).join("\n");
    for (written, actual) in [
        ("/srv/mcp/tools.py", file.to_string_lossy().into_owned()),
        ("/etc/pmcp/sealing.key", redis.key()),
        ("--port=8080", "--port=0".to_owned()),
        ("0.0.0.0:9090", "0.0.0.0:0".to_owned()),
        ("$(POD_IP):8080", "127.0.0.1:0".to_owned()),
        ("$(POD_NAME)", "pmcp-7c9d8f6b5-x2k4q".to_owned()),
    ] {
        assert!(command.contains(written), "{written}: {command}");
        command = command.replace(written, &actual);
    }
    let launch = command.lines().fold(sandbox.pmcp(&[]), Launch::arg);
    list(container, "/env").iter().fold(launch, |launch, variable| match text(variable, "/name") {
        "POD_IP" | "POD_NAME" => launch,
        name @ "HOME" => launch.env(name, sandbox.path("")),
        name @ "PMCP_STORE" => launch.env(name, redis.url()),
        name @ "MCP_TOKEN" => launch.env(name, "token-of-the-secret"),
        other => panic!("{other} has no value here"),
    })
}

#[test]
fn the_command_of_the_pod_serves() {
    let deployment = manifest("deployment");
    let container = at(&deployment, CONTAINER);
    let (redis, sandbox) = (Redis::start(), Sandbox::new());
    let Output { stdout, .. } = sandbox.pmcp(&["run", "--help"]).command().output().expect("pmcp starts");
    let help = String::from_utf8(stdout).expect("help is text");
    for word in words(container).into_iter().filter(|word| word.starts_with("--")) {
        let name = word.split('=').next().unwrap_or(word);
        assert!(help.split_whitespace().any(|known| known == name), "pmcp run has no {name}");
    }

    let mut server = Web::launch(sandbox.clone(), launch(container, &redis, &sandbox));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(server.post(&list).status, 401);
    server.carry("authorization", "Bearer token-of-the-secret");
    server.initialize();
    assert_eq!(server.post(&list).status, 200);

    let log = server.process().stderr_with("metrics on");
    let line = log.lines().find(|line| line.contains("metrics on")).expect("the line");
    let port = line.rsplit(':').next().and_then(|rest| rest.split('/').next()).and_then(|port| port.parse().ok());
    let server = server.at_port(port.unwrap_or_else(|| panic!("no port in {line}")));
    for probe in PROBES {
        let path = text(at(container, probe), "/httpGet/path");
        assert_eq!(server.send("GET", path, &[], "").status, 200, "{probe}");
    }
    let metrics = server.send("GET", "/metrics", &[], "").body;
    let hpa = manifest("hpa");
    for metric in list_of_metrics(&hpa) {
        assert!(metrics.lines().any(|line| line.starts_with(&format!("{metric} "))), "no {metric} in {metrics}");
    }
}

/// The metrics of pods that the autoscaler looks at.
fn list_of_metrics(hpa: &Value) -> Vec<&str> {
    let of_pods = list(hpa, "/spec/metrics").iter().filter(|metric| text(metric, "/type") == "Pods");
    let names: Vec<_> = of_pods.map(|metric| text(metric, "/pods/metric/name")).collect();
    assert!(!names.is_empty(), "{hpa}");
    names
}
