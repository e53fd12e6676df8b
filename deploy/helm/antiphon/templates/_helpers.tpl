{{- define "antiphon.name" -}}
{{- if contains "antiphon" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-antiphon" .Release.Name }}{{ end -}}
{{- end }}

{{- /* What selects the pods of a component: (dict "root" $ "component" "server"). */ -}}
{{- define "antiphon.selector" -}}
app.kubernetes.io/name: antiphon
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "antiphon.labels" -}}
app.kubernetes.io/name: antiphon
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* "true" for a store in SQLite: one replica with a volume, which nothing else can share. */ -}}
{{- define "antiphon.sqlite" -}}
{{- if hasPrefix "sqlite:" .Values.store }}true{{ end -}}
{{- end }}

{{- define "antiphon.claim" -}}
{{- .Values.persistence.existingClaim | default (include "antiphon.name" .) -}}
{{- end }}

{{- /* A value in TOML, on one line. */ -}}
{{- define "antiphon.toml" -}}
{{- if kindIs "map" . -}}
{ {{- range $index, $key := keys . | sortAlpha }}{{ if $index }},{{ end }} {{ toJson $key }} = {{ include "antiphon.toml" (get $ $key) }}{{ end }} }
{{- else if kindIs "slice" . -}}
[{{ range $index, $item := . }}{{ if $index }}, {{ end }}{{ include "antiphon.toml" $item }}{{ end }}]
{{- else if kindIs "invalid" . -}}
{{ fail "settings and backends must not contain null" }}
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end }}

{{- define "antiphon.settings" -}}
host = "0.0.0.0"
store = {{ include "antiphon.toml" .Values.store }}
metrics_listen = "0.0.0.0:9321"
{{- if not (hasKey .Values.settings "log_format") }}
log_format = "json"
{{- end }}
backends = {{ include "antiphon.toml" .Values.backends }}
{{- range $key := keys .Values.settings | sortAlpha }}
{{ $key }} = {{ include "antiphon.toml" (get $.Values.settings $key) }}
{{- end }}
{{- end }}

{{- define "antiphon.pod" -}}
automountServiceAccountToken: false
# Else the Service of a release named `antiphon` sets ANTIPHON_PORT to its address in every pod, which is not a port.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "antiphon.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.secret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "antiphon.mounts" -}}
- name: settings
  mountPath: /etc/antiphon
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if include "antiphon.sqlite" . }}
- name: data
  mountPath: /data
{{- end }}
{{- end }}

{{- define "antiphon.volumes" -}}
- name: settings
  configMap:
    name: {{ include "antiphon.name" . }}
- name: tmp
  emptyDir: {}
{{- if include "antiphon.sqlite" . }}
- name: data
  persistentVolumeClaim:
    claimName: {{ include "antiphon.claim" . }}
{{- end }}
{{- end }}
