package serve_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
)

// A server for one user and one epoch, and the client of that user, who pays epsilon 1.
func Example() {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	loss, err := engine.NewExpression("logistic", "log1p(exp(-u))", engine.ExpressionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := local.Protocol{
		Method: local.Prestige, Loss: loss, Dim: 2, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 1, Epochs: 1, Epsilon: 1,
	}.Plan()
	if err != nil {
		log.Fatal(err)
	}
	service, err := serve.Open(filepath.Join(dir, "study"), plan, "")
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- serve.Run(ctx, service, listener, serve.HandlerOptions{ErrorLog: log.New(os.Stderr, "", 0)})
	}()

	memory, err := serve.OpenMemory(filepath.Join(dir, "me.json"))
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	client := serve.Client{
		Remote: serve.Remote{URL: "http://" + listener.Addr().String()}, User: "me", Memory: memory, Limits: serve.Limits{Epsilon: 1},
	}
	for range 2 { // the second time there is nothing left to answer
		answer, err := client.Answer(ctx, engine.Record{X: []float64{0.6, -0.2}, Y: 1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.Outcome, memory.Spent())
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// accepted 1
	// over 1
	// <nil>
}
