{{/* The labels by which pods are selected. */}}
{{- define "kubectl-storage.selector" -}}
app.kubernetes.io/component: watch
app.kubernetes.io/name: kubectl-storage
{{- end }}

{{/* The labels of every object. */}}
{{- define "kubectl-storage.labels" -}}
{{ include "kubectl-storage.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The metadata of an object in the namespace. Names do not depend on the release: it is one installation per namespace. */}}
{{- define "kubectl-storage.metadata" -}}
labels:
  {{- include "kubectl-storage.labels" . | nindent 2 }}
name: kubectl-storage-watch
namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/* The port of an address that others reach, or nothing. */}}
{{- define "kubectl-storage.port" -}}
{{- if kindIs "map" .server -}}
{{- $address := toString .server.address -}}
{{- $octet := `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])` -}}
{{- if not (and (kindIs "string" .server.address) (regexMatch (printf `^((%s\.){3}%s|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\]):[0-9]+$` $octet $octet) $address)) -}}
{{- fail (printf "policy: report.%s.address: %q is no address with a port, such as 0.0.0.0:8443" .name $address) -}}
{{- end -}}
{{- /* Without zeros before it: a number that begins with one would be octal. */ -}}
{{- $port := regexReplaceAll `^0+` (regexFind `[0-9]+$` $address) "" -}}
{{- if not (regexMatch `^([0-9]{0,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$` $port) -}}
{{- fail (printf "policy: report.%s.address: %q: a port is at most 65535" .name $address) -}}
{{- end -}}
{{- $loopback := `^(127\.|\[[0:]*:0{0,3}1\]|\[[0:]*:[fF]{4}:(127\.|7[fF][0-9a-fA-F]{2}:[0-9a-fA-F]{1,4}\]))` -}}
{{- if not (regexMatch $loopback $address) -}}
{{- if not $port -}}{{- fail (printf "policy: report.%s.address: a port is required, not 0" .name) -}}{{- end -}}
{{- $port -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The folder in which a Secret is mounted, so that this file of the policy is one of its files. */}}
{{- define "kubectl-storage.folder" -}}
{{- $file := default "" .file | toString -}}
{{- $folder := dir $file -}}
{{- $plain := and (regexMatch `^(/[^/:]+)+/[^/]+$` $file) (not (regexMatch `/\.\.?(/|$)` $file)) -}}
{{- $taken := regexMatch `^/(proc|sys|dev|var/run/secrets|var/lib/kubectl-storage|etc/kubectl-storage/policy)(/|$)` $folder -}}
{{- if or (not $plain) $taken -}}
{{- fail (printf "policy: report.%s: %q cannot be mounted from a Secret; name it by an absolute path in a folder of its own, such as /etc/kubectl-storage/secret/file" .key $file) -}}
{{- end -}}
{{- $folder -}}
{{- end }}

{{/* The document of policyFile. A second one would be read by nobody, and nothing would stand for an empty one. */}}
{{- define "kubectl-storage.document" -}}
{{- $rest := regexReplaceAll `\A\x{feff}?((%.*|[ \t]*(#.*)?)\r?\n)*---` . "" -}}
{{- if or (regexMatch `(?m)^---([ \t\r]|$)` $rest) (regexMatch `(?ms)^\.\.\.\s.*\S` $rest) -}}
{{- fail "policyFile: a second document; a policy is one" -}}
{{- end -}}
{{- $policy := fromYaml . -}}
{{- with $policy.Error -}}{{- fail (printf "policyFile: %v" .) -}}{{- end -}}
{{- if not $policy -}}{{- fail "policyFile: the policy is empty" -}}{{- end -}}
{{- range $key, $value := dict "apiVersion" "storage.kubectl.dev/v1alpha1" "kind" "WatchPolicy" -}}
{{- if ne (get $policy $key | toString) $value -}}{{- fail (printf "policyFile: %s must be %s" $key $value) -}}{{- end -}}
{{- end -}}
{{- /* The schema holds it against policy. */ -}}
{{- range $path := list "leaderElection" "reconcilers" "reconcilers.rescue" "reconcilers.retention" "reconcilers.finalizers" "reconcilers.reclaim"
  "report" "report.events" "report.metrics" "report.metrics.tls" "report.probes" "report.webhook" -}}
{{- $at := $policy -}}
{{- $given := true -}}
{{- range $key := splitList "." $path -}}
{{- $given = and $given (hasKey $at $key) -}}
{{- $at = ternary (get $at $key) dict $given -}}
{{- end -}}
{{- if not (kindIs "map" $at) -}}{{- fail (printf "policyFile: %s: expected keys and values" $path) -}}{{- end -}}
{{- end -}}
{{- toJson $policy -}}
{{- end }}

{{/* Refuses what becomes the name of an object, or its namespace, and cannot be one. */}}
{{- define "kubectl-storage.name" -}}
{{- if hasKey .within .key -}}
{{- $name := get .within .key -}}
{{- if not (and (kindIs "string" $name) (regexMatch .form (toString $name))) -}}
{{- fail (printf "policy: %s%s: %q is not a valid name" .at .key (toString $name)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
What the policy asks for, as JSON, or why it cannot run: the same that `kubectl storage watch print` says.
What decides about no object is told by values.schema.json, or by the pods.
*/}}
{{- define "kubectl-storage.installation" -}}
{{- $namespace := .Release.Namespace -}}
{{- if regexMatch `^(default$|kube-)` $namespace -}}
{{- fail (printf "namespace %s holds objects of others: choose one of its own, such as -n kubectl-storage --create-namespace" $namespace) -}}
{{- end -}}
{{- $policy := .Values.policy -}}
{{- $text := .Values.policyFile -}}
{{- if kindIs "string" $text -}}
{{- if and $policy (ne (toJson $policy) (.Files.Get "files/policy.yaml" | fromYaml | toJson)) -}}
{{- fail "policy is of no use beside policyFile: write it into that file" -}}
{{- end -}}
{{- $policy = include "kubectl-storage.document" $text | fromJson -}}
{{- else if $policy -}}
{{- $text = printf "%s\n" (toYaml $policy) -}}
{{- else -}}
{{- fail "policy: it is empty, and there is no policyFile" -}}
{{- end -}}

{{- $elects := kindIs "map" $policy.leaderElection -}}
{{- $election := default dict $policy.leaderElection -}}
{{- $of_namespace := `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$` -}}
{{- $of_lease := `^kubectl-storage-watch(-[a-z0-9-]*[a-z0-9](\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$` -}}
{{- include "kubectl-storage.name" (dict "within" $policy "at" "" "key" "clusterJournal" "form" $of_namespace) -}}
{{- include "kubectl-storage.name" (dict "within" $election "at" "leaderElection." "key" "namespace" "form" $of_namespace) -}}
{{- include "kubectl-storage.name" (dict "within" $election "at" "leaderElection." "key" "name" "form" $of_lease) -}}
{{- if gt (default "" $election.name | len) 253 -}}{{- fail "policy: leaderElection.name: it is longer than 253 characters" -}}{{- end -}}
{{- $journal := default $namespace $policy.clusterJournal -}}
{{- $acting := .Values.act -}}
{{- $reporting := list -}}
{{- $unlocked := list -}}
{{- range $name := list "rescue" "retention" "finalizers" "reclaim" -}}
{{- $reconciler := default dict (get (default dict $policy.reconcilers) $name) -}}
{{- $mode := toString $reconciler.mode -}}
{{- /* Without quotes "off" is false in a file. */ -}}
{{- if and (hasKey $reconciler "mode") (not (has $mode (list "off" "false" "report" "act"))) -}}
{{- fail (printf "policy: reconcilers.%s.mode: expected off, report or act, found %q" $name $mode) -}}
{{- end -}}
{{- if and (eq $name "reclaim") (has $mode (list "report" "act")) -}}
{{- range $key := list "olderThan" "grace" -}}
{{- if not (regexMatch `^[0-9]*[1-9].*[a-z]$` (get $reconciler $key | toString)) -}}
{{- fail (printf "policy: reconcilers.reclaim.%s: a duration such as 72h is required" $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq $mode "act" -}}
{{- if not $elects -}}{{- fail (printf "policy: reconcilers.%s: act requires leaderElection: only one process may act at a time" $name) -}}{{- end -}}
{{- $unlocked = append $unlocked $name -}}
{{- else if eq $mode "report" -}}
{{- $reporting = append $reporting $name -}}
{{- end -}}
{{- end -}}
{{- range $key := list "bounds" "clusterJournal" -}}
{{- if and (hasKey $policy $key) (not (or $unlocked $reporting)) -}}
{{- fail (printf "policy: %q is of no use: every reconciler is off" $key) -}}
{{- end -}}
{{- end -}}
{{- $acting = concat $acting $unlocked | uniq -}}

{{- $replicas := default (ternary 2 1 $elects) .Values.replicas | int -}}
{{- if and (gt $replicas 1) (not $elects) -}}
{{- fail "replicas above 1 requires leaderElection in the policy: without it each pod reports everything" -}}
{{- end -}}

{{- $report := default dict $policy.report -}}
{{- $metrics := include "kubectl-storage.port" (dict "name" "metrics" "server" $report.metrics) -}}
{{- $probes := include "kubectl-storage.port" (dict "name" "probes" "server" $report.probes) -}}
{{- if and $probes (eq $probes $metrics) -}}
{{- fail "policy: report.probes.address has the port of report.metrics.address: give it another one" -}}
{{- end -}}
{{- if and .Values.monitoring.enabled (not $metrics) -}}
{{- fail "monitoring.enabled requires report.metrics in the policy, at an address that is not loopback, such as 0.0.0.0:8443" -}}
{{- end -}}

{{- $secrets := list -}}
{{- if kindIs "map" $report.webhook -}}
{{- $file := $report.webhook.urlFile -}}
{{- $folder := include "kubectl-storage.folder" (dict "key" "webhook.urlFile" "file" $file) -}}
{{- $secrets = append $secrets (dict "name" "kubectl-storage-webhook" "volume" "webhook" "folder" $folder
  "items" (list (dict "key" "url" "path" (base $file)))) -}}
{{- end -}}
{{- $tls := (default dict $report.metrics).tls -}}
{{- if kindIs "map" $tls -}}
{{- $folder := include "kubectl-storage.folder" (dict "key" "metrics.tls.certFile" "file" $tls.certFile) -}}
{{- $of_key := include "kubectl-storage.folder" (dict "key" "metrics.tls.keyFile" "file" $tls.keyFile) -}}
{{- if ne $folder $of_key -}}
{{- fail "policy: report.metrics.tls: certFile and keyFile must be in one folder, where their Secret is mounted" -}}
{{- end -}}
{{- range $secrets -}}
{{- if eq .folder $folder -}}
{{- fail (printf "policy: report.webhook.urlFile and report.metrics.tls must be in different folders, not both in %s" $folder) -}}
{{- end -}}
{{- end -}}
{{- $secrets = append $secrets (dict "name" "kubectl-storage-tls" "volume" "tls" "folder" $folder
  "items" (list (dict "key" "tls.crt" "path" (base $tls.certFile)) (dict "key" "tls.key" "path" (base $tls.keyFile)))) -}}
{{- end -}}

{{- dict
  "text" $text
  "acting" $acting
  "unlocked" $unlocked
  "reporting" $reporting
  "elects" $elects
  "name" (default "kubectl-storage-watch" $election.name)
  "journal" $journal
  "lease" (default $journal $election.namespace)
  "replicas" $replicas
  "events" (kindIs "map" $report.events)
  "openReports" (kindIs "map" $report.openReports)
  "metrics" $metrics
  "probes" $probes
  "secrets" $secrets
  "fixed" (dict "leaderElection" $policy.leaderElection "clusterJournal" $policy.clusterJournal "metrics" $report.metrics "probes" $report.probes)
  | toJson -}}
{{- end }}
