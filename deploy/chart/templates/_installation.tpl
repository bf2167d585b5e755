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
namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The port of an address that others reach, or nothing. */}}
{{- define "kubectl-storage.port" -}}
{{- $address := default "" .address -}}
{{- if and $address (not (regexMatch `^(127\.|\[[0:]*1\]:|\[::ffff:127\.)` $address)) -}}
{{- $port := regexFind `[0-9]+$` $address | int -}}
{{- if eq $port 0 -}}{{- fail (printf "policy: report.%s.address: a port is required, not 0" .name) -}}{{- end -}}
{{- $port -}}
{{- end -}}
{{- end }}

{{/* The folder in which a Secret is mounted, so that this file of the policy is one of its files. */}}
{{- define "kubectl-storage.folder" -}}
{{- $folder := dir .file -}}
{{- $plain := and (regexMatch `^(/[^/:]+)+/[^/]+$` .file) (not (regexMatch `/\.\.?(/|$)` .file)) -}}
{{- $taken := regexMatch `^/(proc|sys|dev|var/run/secrets|var/lib/kubectl-storage|etc/kubectl-storage/policy)(/|$)` $folder -}}
{{- if or (not $plain) $taken -}}
{{- fail (printf "policy: report.%s: %q cannot be mounted from a Secret; name it by an absolute path in a folder of its own, such as /etc/kubectl-storage/secret/file" .key .file) -}}
{{- end -}}
{{- $folder -}}
{{- end }}

{{/*
What the policy asks for, as JSON, or why it cannot run: the same that `kubectl storage watch print` says.
What is wrong within the policy is told by values.schema.json, or by the pods.
*/}}
{{- define "kubectl-storage.installation" -}}
{{- $namespace := .Release.Namespace -}}
{{- if regexMatch `^(default$|kube-)` $namespace -}}
{{- fail (printf "namespace %s holds objects of others: choose one of its own, such as -n kubectl-storage --create-namespace" $namespace) -}}
{{- end -}}
{{- $policy := .Values.policy -}}
{{- $text := printf "%s\n" (toYaml $policy) -}}
{{- if .Values.policyFile -}}
{{- $text = .Values.policyFile -}}
{{- $policy = fromYaml $text -}}
{{- if $policy.Error -}}{{- fail (printf "policyFile: %s" $policy.Error) -}}{{- end -}}
{{- end -}}

{{- $elects := kindIs "map" $policy.leaderElection -}}
{{- $election := default dict $policy.leaderElection -}}
{{- $journal := default $namespace $policy.clusterJournal -}}
{{- $acting := .Values.act -}}
{{- $reporting := list -}}
{{- $unlocked := list -}}
{{- range $name := list "rescue" "retention" "finalizers" "reclaim" -}}
{{- $mode := toString (default dict (get (default dict $policy.reconcilers) $name)).mode -}}
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
{{- $metrics := include "kubectl-storage.port" (dict "name" "metrics" "address" (default dict $report.metrics).address) -}}
{{- $probes := include "kubectl-storage.port" (dict "name" "probes" "address" (default dict $report.probes).address) -}}
{{- if and $probes (eq $probes $metrics) -}}
{{- fail "policy: report.probes.address has the port of report.metrics.address: give it another one" -}}
{{- end -}}
{{- if and .Values.monitoring.enabled (not $metrics) -}}
{{- fail "monitoring.enabled requires report.metrics in the policy, at an address that is not loopback, such as 0.0.0.0:8443" -}}
{{- end -}}

{{- $secrets := list -}}
{{- with $report.webhook -}}
{{- $folder := include "kubectl-storage.folder" (dict "key" "webhook.urlFile" "file" .urlFile) -}}
{{- $secrets = append $secrets (dict "name" "kubectl-storage-webhook" "volume" "webhook" "folder" $folder
  "items" (list (dict "key" "url" "path" (base .urlFile)))) -}}
{{- end -}}
{{- with (default dict $report.metrics).tls -}}
{{- $folder := include "kubectl-storage.folder" (dict "key" "metrics.tls.certFile" "file" .certFile) -}}
{{- $of_key := include "kubectl-storage.folder" (dict "key" "metrics.tls.keyFile" "file" .keyFile) -}}
{{- if ne $folder $of_key -}}
{{- fail "policy: report.metrics.tls: certFile and keyFile must be in one folder, where their Secret is mounted" -}}
{{- end -}}
{{- range $secrets -}}
{{- if eq .folder $folder -}}
{{- fail (printf "policy: report.webhook.urlFile and report.metrics.tls must be in different folders, not both in %s" $folder) -}}
{{- end -}}
{{- end -}}
{{- $secrets = append $secrets (dict "name" "kubectl-storage-tls" "volume" "tls" "folder" $folder
  "items" (list (dict "key" "tls.crt" "path" (base .certFile)) (dict "key" "tls.key" "path" (base .keyFile)))) -}}
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
