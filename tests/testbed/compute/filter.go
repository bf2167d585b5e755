package main

import (
	"regexp"
	"strings"
)

// parseFilter reads the one form of filter that the driver uses: FIELD eq EXPRESSION, where the expression is to match
// the whole field. Another form is an error, for an answer that ignored it would be a wrong one.
func parseFilter(filter string) (func(object) bool, error) {
	if filter == "" {
		return func(object) bool { return true }, nil
	}
	words := strings.Fields(filter)
	if len(words) != 3 || words[1] != "eq" {
		return nil, invalid("the filter '" + filter + "' is not played")
	}
	expression, err := regexp.Compile("^(?:" + words[2] + ")$")
	if err != nil {
		return nil, invalid(err.Error())
	}
	return func(one object) bool { return expression.MatchString(text(one, words[0])) }, nil
}
