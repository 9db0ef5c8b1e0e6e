{{- define "gvList" -}}
{{- range . -}}
# Reference: `{{ .GroupVersionString }}`

Made from the types in `api/v1alpha1` by `make generate`; `kubectl explain` shows the same words. Kinds:
{{- range .SortedKinds }} [{{ . }}](#{{ lower . }}){{ end }}.
{{ range .SortedTypes -}}
{{ template "type" . }}
{{- end -}}
{{- end -}}
{{- end -}}
