package main

import "context"

func runDemo(context.Context, []string, streams) int { return 1 }
