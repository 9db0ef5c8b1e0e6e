{{- define "type" -}}
{{- if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}
{{- if .SortedReferences }} Used by
{{- range $i, $t := .SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $t }}{{ end }}.
{{- end }}
{{- if not .Members }}
{{ range .Validation }}
- {{ template "rule" . }}
{{- end }}
{{- end }}
{{ range .Members }}
- `{{ .Name }}` ({{ markdownRenderType .Type }}{{ if .Default }}, default `{{ .Default }}`{{ end }})
{{- if eq .Name "metadata" }}: as in all objects of Kubernetes
{{- else }}: {{ .Doc | replace "\n" " " }}
{{- end }}
{{- range .Validation }}{{ if not (hasPrefix "Optional" .) }} {{ template "rule" . }}.{{ end }}{{ end }}
{{- end }}
{{- range .EnumValues }}
- `{{ .Name }}`: {{ .Doc | replace "\n" " " }}
{{- end }}
{{ end -}}
{{- end -}}
{{- define "rule" -}}
{{- if hasPrefix "Required" . }}**Required**
{{- else if hasPrefix "Pattern: " . }}Pattern: {{ trimPrefix "Pattern: " . }}
{{- else if hasPrefix "Enum: " . }}One of {{ trimPrefix "Enum: " . | trimPrefix "[" | trimSuffix "]" | replace " " ", " }}
{{- else }}{{ . }}
{{- end -}}
{{- end -}}
