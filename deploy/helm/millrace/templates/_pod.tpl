{{- define "millrace.env" -}}
- name: MILLRACE_HOST
  value: 0.0.0.0
- name: MILLRACE_PORT
  value: "8150"
- name: MILLRACE_DATA_DIR
  value: /var/lib/millrace
{{- if not (or .Values.settings.publicHost .Values.settings.publicUrl) }}
- name: MILLRACE_PUBLIC_HOST
  value: {{ printf "%s.%s.svc" (include "millrace.name" .) .Release.Namespace }}
{{- end }}
{{- with .Values.service.endpoints }}
{{- if gt (int .count) 0 }}
- name: MILLRACE_SERVICE_PORTS
  value: {{ printf "%d-%s" (int .first) (include "millrace.lastEndpoint" $) | quote }}
{{- else if $.Values.gateway.domain }}
- name: MILLRACE_SERVICE_PORTS
  value: none
{{- end }}
{{- end }}
{{- if .Values.gateway.domain }}
- name: MILLRACE_GATEWAY_PORT
  value: "8443"
- name: MILLRACE_GATEWAY_DOMAIN
  value: {{ .Values.gateway.domain | quote }}
- name: MILLRACE_GATEWAY_PUBLIC_URL
  value: {{ include "millrace.gatewayUrl" . | quote }}
- name: MILLRACE_RELAY_PORT
  value: "8444"
{{- end }}
{{- if include "millrace.gatewaySecret" . }}
- name: MILLRACE_GATEWAY_TLS_CERT
  value: /etc/millrace/gateway-tls/tls.crt
- name: MILLRACE_GATEWAY_TLS_KEY
  value: /etc/millrace/gateway-tls/tls.key
{{- end }}
{{- with .Values.clickhouse }}
{{- if .enabled }}
- name: MILLRACE_KUBERNETES_NAMESPACE
  value: {{ include "millrace.clickhouseNamespace" $ | quote }}
- name: MILLRACE_KUBERNETES_IMAGE
  value: {{ .image | quote }}
- name: MILLRACE_KUBERNETES_VOLUMES
  value: {{ .volumes | quote }}
{{- with .storageClass }}
- name: MILLRACE_KUBERNETES_STORAGE_CLASS
  value: {{ . | quote }}
{{- end }}
{{- with .keeper }}
- name: MILLRACE_KUBERNETES_KEEPER
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: MILLRACE_TLS_CERT
  value: /etc/millrace/tls/tls.crt
- name: MILLRACE_TLS_KEY
  value: /etc/millrace/tls/tls.key
{{- end }}
{{- range $name, $secret := .Values.existingSecrets }}
{{- if $secret.name }}
- name: {{ printf "MILLRACE_%s" ($name | snakecase | upper) }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret.name | quote }}
      key: {{ $secret.key | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ printf "MILLRACE_%s" ($name | snakecase | upper) }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{- define "millrace.probe" -}}
httpGet:
  path: /health
  port: api
  scheme: {{ ternary "HTTPS" "HTTP" (ne .Values.tls.existingSecret "") }}
timeoutSeconds: 5
{{- end }}

{{- define "millrace.pod" -}}
{{- $isWorker := .isWorker }}
{{- $pool := .pool }}
{{- with .top -}}
metadata:
  labels:
    {{- if $isWorker }}
    {{- include "millrace.workerLabels" (dict "top" . "pool" $pool.name) | nindent 4 }}
    {{- else }}
    {{- include "millrace.labels" . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "millrace.serviceAccount" . }}
  automountServiceAccountToken: {{ and .Values.clickhouse.enabled (not $isWorker) }}
  # The addresses of the Service named millrace would be MILLRACE_PORT and the like.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: millrace
      image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- if $isWorker }}
      args:
        - worker
        - {{ printf "--slots=%d" (int $pool.slots) }}
        {{- with $pool.pipeKinds }}
        - {{ printf "--pipe-kinds=%s" (join "," .) }}
        {{- end }}
        {{- with $pool.pipeSizes }}
        - {{ printf "--pipe-sizes=%s" . }}
        {{- end }}
      {{- else }}
      args: [serve]
      {{- end }}
      env:
        {{- include "millrace.env" . | nindent 8 }}
      {{- if not $isWorker }}
      ports:
        - name: api
          containerPort: 8150
        {{- if .Values.gateway.domain }}
        - name: gateway
          containerPort: 8443
        {{- end }}
      startupProbe:
        {{- include "millrace.probe" . | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 60
      readinessProbe:
        {{- include "millrace.probe" . | nindent 8 }}
        periodSeconds: 5
      livenessProbe:
        {{- include "millrace.probe" . | nindent 8 }}
        periodSeconds: 10
        failureThreshold: 6
      {{- end }}
      resources:
        {{- if $isWorker }}
        {{- toYaml $pool.resources | nindent 8 }}
        {{- else }}
        {{- toYaml .Values.resources | nindent 8 }}
        {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: data
          mountPath: /var/lib/millrace
        - name: tmp
          mountPath: /tmp
        {{- if .Values.tls.existingSecret }}
        - name: tls
          mountPath: /etc/millrace/tls
          readOnly: true
        {{- end }}
        {{- if include "millrace.gatewaySecret" . }}
        - name: gateway-tls
          mountPath: /etc/millrace/gateway-tls
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if and .Values.persistence.existingClaim (not $isWorker) }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.persistence.existingClaim | quote }}
    {{- else if include "millrace.onPostgres" . }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if .Values.tls.existingSecret }}
    - name: tls
      secret:
        secretName: {{ .Values.tls.existingSecret | quote }}
    {{- end }}
    {{- if include "millrace.gatewaySecret" . }}
    - name: gateway-tls
      secret:
        secretName: {{ include "millrace.gatewaySecret" . | quote }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
