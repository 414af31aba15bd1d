// Command localgain measures what the split of epsilon between the two parts of a visit of
// prestige-participation is worth: the split that adds both parts up, at the paper's share
// 1:4, against the one of local.Direction.Participation, at the same claim.
//
//	go run ./bench/localgain > bench/results/localgain.csv
//	go run ./bench/localgain -audit > bench/results/localaudit.csv
//
// With -audit it attacks the messages of every private method instead, and prints how near
// the attack comes to the claim.
//
// variance is the mean of ||decoded - g||^2 over the messages of a record that takes part,
// ||g|| = Bound = 1; truth is the probability that it says so.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"dyad/algorithms/local"
	"dyad/algorithms/local/localaudit"
	"dyad/bench"
	"dyad/engine"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 200000, "messages of each line, or runs with each record")
	attack := flag.Bool("audit", false, "attack the messages of all methods")
	flag.Parse()
	bench.Header(os.Stdout, "localgain", os.Args[1:])
	if *attack {
		if err := audits(*n); err != nil {
			log.Fatal("localgain: ", err)
		}
		return
	}
	fmt.Println("d,pairs,claim,split,response_epsilon,direction_epsilon,spent,favoured,truth,scale,variance,variance_over_sum")
	for _, d := range []int{2, 10, 100} {
		for _, pairs := range []int{1, 8} {
			for _, epsilon := range []float64{0.5, 1, 2, 4, 8} {
				if err := compare(d, pairs, epsilon, *n); err != nil {
					log.Fatal("localgain: ", err)
				}
			}
		}
	}
}

// audits attacks one visit of every method.
func audits(runs int) error {
	loss, err := engine.NewExpression("linear", "-u", engine.ExpressionOptions{})
	if err != nil {
		return err
	}
	fmt.Println("method,d,pairs,claim,runs,bound,confidence,estimate,standard_error,estimate_over_claim,instance")
	for _, method := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation, local.PrestigeLabel} {
		for _, pairs := range []int{1, 4} {
			for _, epsilon := range []float64{0.5, 1, 2, 4} {
				if method == local.PrestigeLabel && pairs > 1 {
					continue // it sends no direction
				}
				p, err := local.Protocol{
					Method: method, Loss: local.ScalarLoss{Of: loss}, Dim: 2, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 10, Epochs: 3, Epsilon: epsilon, Pairs: pairs,
				}.Plan()
				if err != nil {
					return err
				}
				r, err := localaudit.Attack(context.Background(), p, localaudit.Options{Runs: runs, Visits: 1, Confidence: 0.999, Seed: 1})
				if err != nil {
					return err
				}
				fmt.Printf("%s,%d,%d,%g,%d,%.4f,%g,%.4f,%.4f,%.4f,%q\n", method, p.Dim, pairs, r.Claim, runs, r.LowerBound, r.Confidence, r.Estimate, r.StandardError, r.Estimate/r.Claim, r.Instance)
			}
		}
	}
	return nil
}

func compare(d, pairs int, epsilon float64, n int) error {
	m := randomiser.Direction{Dim: d, Bound: 1, Pairs: pairs}
	response, better, err := m.Participation(epsilon, 0)
	if err != nil {
		return err
	}
	m.Epsilon = 0.8 * epsilon
	sum, err := m.Channel()
	if err != nil {
		return err
	}
	base := 0.0
	for _, s := range []struct {
		name     string
		response randomiser.RandomizedResponse
		channel  *randomiser.DirectionChannel
	}{{"sum", randomiser.RandomizedResponse{Epsilon: 0.2 * epsilon}, sum}, {"exact", response, better}} {
		v, err := variance(s.channel, n)
		if err != nil {
			return err
		}
		if s.name == "sum" {
			base = v
		}
		fmt.Printf("%d,%d,%g,%s,%.6g,%.6g,%.6g,%d,%.4f,%.5g,%.5g,%.4f\n", d, pairs, epsilon, s.name, s.response.Epsilon, s.channel.Mechanism().Epsilon,
			s.channel.ParticipationEpsilon(s.response.Epsilon), s.channel.Mechanism().Favoured, s.response.Truth(), s.channel.Scale(), v, v/base)
	}
	return nil
}

// variance is the mean of ||decoded - g||^2 for a unit vector g.
func variance(c *randomiser.DirectionChannel, n int) (float64, error) {
	g, x := make([]float64, c.Mechanism().Dim), make([]float64, c.Mechanism().Dim)
	g[0] = 1
	src, sum := privacy.NewSeededSource(1), 0.0
	for range n {
		msg, err := c.Send(g, src)
		if err != nil {
			return 0, err
		}
		clear(x)
		if err := c.AddDecoded(x, 1, msg); err != nil {
			return 0, err
		}
		for i, v := range x {
			sum += (v - g[i]) * (v - g[i])
		}
	}
	return sum / float64(n), nil
}
