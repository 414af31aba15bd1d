// Command localgain measures what the split of epsilon between the two parts of a visit of
// prestige-participation is worth: the split that adds both parts up, at the paper's share
// 1:4, against the one of privacy.PrivateDirection.Participation, at the same claim.
//
//	go run ./bench/localgain > bench/results/localgain.csv
//
// variance is the mean of ||decoded - g||^2 over the messages of a record that takes part,
// ||g|| = Bound = 1; truth is the probability that it says so.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"dyad/bench"
	"dyad/privacy"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 200000, "messages of each line")
	flag.Parse()
	bench.Header(os.Stdout, "localgain", os.Args[1:])
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

func compare(d, pairs int, epsilon float64, n int) error {
	m := privacy.PrivateDirection{Dim: d, Bound: 1, Pairs: pairs}
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
		response privacy.RandomizedResponse
		channel  *privacy.DirectionChannel
	}{{"sum", privacy.RandomizedResponse{Epsilon: 0.2 * epsilon}, sum}, {"exact", response, better}} {
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
func variance(c *privacy.DirectionChannel, n int) (float64, error) {
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
