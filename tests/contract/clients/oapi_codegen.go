// A client that oapi-codegen makes creates, asks, tells, lists and reads. Argument: the server's URL.
package main

import (
	"context"
	"os"

	"use/banditd"
)

func to[T any](value T) *T { return &value }

func check(good bool, what any) {
	if !good {
		panic(what)
	}
}

func none(err error) { check(err == nil, err) }

func main() {
	client, err := banditd.NewClientWithResponses(os.Args[1])
	none(err)
	ctx, id := context.Background(), "oapi-codegen"
	var rate, kind banditd.Parameter
	none(rate.FromDoubleParameter(banditd.DoubleParameter{Name: "rate", Min: 1e-5, Max: 1, Scale: to(banditd.ParameterScale("log"))}))
	none(kind.FromCategoricalParameter(banditd.CategoricalParameter{Name: "kind", Values: []string{"a", "b"}}))
	var domain banditd.DomainDefinition
	none(domain.FromSpaceDomain(banditd.SpaceDomain{Parameters: []banditd.Parameter{rate, kind}}))
	var noise banditd.NoiseStd
	none(noise.FromNoiseStd1(0.1))
	definition := banditd.StudyDefinition{Id: &id, Seed: to(int64(1)<<53 - 1), Domain: domain}
	definition.Metric = &banditd.Metric{Name: "loss", Goal: to(banditd.MetricGoal("minimize"))}
	definition.Algorithm = &banditd.AlgorithmDefinition{Name: to(banditd.AlgorithmDefinitionName("bbkb")), NoiseStd: &noise}
	study, err := client.CreateStudyWithResponse(ctx, nil, definition)
	none(err)
	check(study.JSON201 != nil, string(study.Body))
	algorithm, err := study.JSON201.Algorithm.ValueByDiscriminator()
	none(err)
	check(algorithm.(banditd.Bbkb).Name == "bbkb" && study.JSON201.Seed == int64(1)<<53-1, algorithm)
	asked, err := client.AskWithResponse(ctx, id, nil, banditd.Ask{Count: to(int64(3))})
	none(err)
	var results []banditd.Result
	for _, trial := range asked.JSON200.Trials {
		results = append(results, banditd.Result{Trial: trial.Id, Value: to(float64(trial.Id))})
	}
	told, err := client.TellWithResponse(ctx, id, nil, banditd.Tell{Results: results})
	none(err)
	check(told.JSON200.Accepted == 3, string(told.Body))
	trials, err := client.ListTrialsWithResponse(ctx, id, &banditd.ListTrialsParams{State: to(banditd.TrialState("completed"))})
	none(err)
	check(len(trials.JSON200.Items) == 3, string(trials.Body))
	best, err := client.GetBestWithResponse(ctx, id, nil)
	none(err)
	check(best.JSON200.Observed != nil, string(best.Body))
	studies, err := client.ListStudiesWithResponse(ctx, nil)
	none(err)
	check(len(studies.JSON200.Items) > 0, string(studies.Body))
}
