// Promrules checks alert rules, and runs tests of them in the format of `promtool test rules`.
//
//	promrules check FILE...
//	promrules test FILE...
//
// The tests are run by promtool's own code: its unittest.go, of the release that go.mod pins, is compiled into this
// program (components.bash copies it). The rest of promtool, with all clouds that Prometheus knows, takes minutes to
// build.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// What unittest.go expects of the program that it is a part of.
const (
	successExitCode = 0
	failureExitCode = 1
)

func parseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, text)
}

// check reads a file of rules as Prometheus does, and as `promtool check rules` refuses two rules that differ in
// nothing but their expression.
func check(file string, p parser.Parser) error {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, p, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	seen := make(map[string]bool)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			key := rule.Alert + rule.Record + rules.FromMaps(group.Labels, rule.Labels).String()
			if seen[key] {
				return fmt.Errorf("%s: there is more than one rule %s", file, key)
			}
			seen[key] = true
		}
	}
	fmt.Printf("%s: %d rules\n", file, len(seen))
	return nil
}

func main() {
	if len(os.Args) < 3 || (os.Args[1] != "check" && os.Args[1] != "test") {
		fmt.Fprintln(os.Stderr, "promrules check|test FILE...")
		os.Exit(2)
	}
	p := parser.NewParser(parser.Options{})
	if os.Args[1] == "test" {
		options := promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true}
		os.Exit(RulesUnitTest(options, p, nil, false, false, false, os.Args[2:]...))
	}
	for _, file := range os.Args[2:] {
		if err := check(file, p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(failureExitCode)
		}
	}
}
