{{- define "millrace.name" -}}
{{- if contains "millrace" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-millrace" (.Release.Name | trunc 31) }}{{ end }}
{{- end }}

{{- define "millrace.selector" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "millrace.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "millrace.worker" -}}
worker{{ with .pool }}-{{ . }}{{ end }}
{{- end }}

{{/* Not those of the server: its Service must not send requests to workers. */}}
{{- define "millrace.workerSelector" -}}
app.kubernetes.io/name: millrace-{{ include "millrace.worker" . }}
app.kubernetes.io/instance: {{ .top.Release.Name }}
{{- end }}

{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
{{ include "millrace.commonLabels" . }}
{{- end }}

{{- define "millrace.workerLabels" -}}
{{ include "millrace.workerSelector" . }}
{{ include "millrace.commonLabels" .top }}
{{- end }}

{{- define "millrace.serviceAccount" -}}
{{- if .Values.serviceAccount.name }}{{ .Values.serviceAccount.name }}{{ else if .Values.serviceAccount.create }}{{ include "millrace.name" . }}{{ else }}default{{ end }}
{{- end }}

{{- define "millrace.clickhouseNamespace" -}}
{{ .Values.clickhouse.namespace | default .Release.Namespace }}
{{- end }}

{{- define "millrace.lastEndpoint" -}}
{{ sub (add .Values.service.endpoints.first .Values.service.endpoints.count) 1 }}
{{- end }}

{{/* The Secret of a certificate that the gateway itself presents. */}}
{{- define "millrace.gatewaySecret" -}}
{{- with .Values.gateway }}{{- if and .domain (not .ingress.enabled) }}{{ .tls.existingSecret }}{{ end }}{{- end }}
{{- end }}

{{/* The URL of the gateway for clients, which the Service or the Ingress determines. */}}
{{- define "millrace.gatewayUrl" -}}
{{- with .Values.gateway }}
{{- if .publicUrl }}{{ .publicUrl }}
{{- else if .ingress.enabled }}{{ printf "%s://%s" (ternary "https" "http" (ne .tls.existingSecret "")) .domain }}
{{- else }}{{ printf "%s://%s:%d" (ternary "https" "http" (ne (printf "%s%s" .tls.existingSecret $.Values.tls.existingSecret) "")) .domain (int .port) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "millrace.onPostgres" -}}
{{- if .Values.existingSecrets.database.name }}yes{{ end }}
{{- end }}
