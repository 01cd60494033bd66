package main

import "strings"

// variableLayer reads SHIRO_PROVIDER, SHIRO_MODEL, SHIRO_BASE_URL and SHIRO_API_KEY. An empty one counts as unset.
func variableLayer(env lookup) layer {
	l := layer{judge: func(key []string, _ error) verdict {
		if key[1] == "name" {
			return mention // the terminal tool passes over a provider it does not know
		}
		return refuse
	}}
	for _, v := range []struct{ name, key string }{
		{"SHIRO_PROVIDER", "name"},
		{"SHIRO_MODEL", "model"},
		{"SHIRO_BASE_URL", "base_url"},
		{"SHIRO_API_KEY", "api_key"},
	} {
		if value := variable(env, v.name); value != "" {
			l.values = append(l.values, assignment{key: []string{"provider", v.key}, value: value, source: v.name})
		}
	}
	return l
}

// variable returns the value of an environment variable without surrounding blanks; "" if there is none.
func variable(env lookup, name string) string {
	if env == nil {
		return ""
	}
	value, _ := env(name)
	return strings.TrimSpace(value)
}

func flagLayer(flags map[string]string) layer {
	var l layer
	for _, f := range []struct{ name, table, key string }{
		{"provider", "provider", "name"},
		{"model", "provider", "model"},
		{"base-url", "provider", "base_url"},
		{"agent", "agent", "variant"},
		{"think", "agent", "thinking"},
	} {
		if value, ok := flags[f.name]; ok {
			l.values = append(l.values, assignment{key: []string{f.table, f.key}, value: value, source: "--" + f.name})
		}
	}
	return l
}
