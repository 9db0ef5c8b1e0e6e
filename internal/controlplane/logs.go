// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gopkg.in/natefinch/lumberjack.v2"
	_ "k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// etcdClientLogger is what the API server's etcd clients log to. Upstream ties it to stderr and offers no other way to
// change that; without the change every stop would print warnings about cancelled requests.
//
//go:linkname etcdClientLogger k8s.io/apiserver/pkg/storage/storagebackend/factory.etcd3ClientLogger
var etcdClientLogger *zap.Logger

func init() {
	etcdClientLogger = zap.New(zapcore.NewCore(lineEncoder(), zapcore.AddSync(klogWriter{}), zapcore.WarnLevel)).Named("etcd-client")
}

// klogWriter hands lines on to klog, wherever that writes at the time.
type klogWriter struct{}

// Write implements io.Writer.
func (klogWriter) Write(line []byte) (int, error) {
	klog.Info(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

func lineEncoder() zapcore.Encoder {
	return zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
}

// openLog gives the writer for everything that the parts log: the caller's, or a file in the data directory that is
// rotated at 20 MB with two older ones kept.
func openLog(o Options) (io.Writer, func(), error) {
	if o.Log != nil {
		return o.Log, func() {}, nil
	}
	dir := filepath.Join(o.DataDir, "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, unusableDir(dir, err)
	}
	file := &lumberjack.Logger{Filename: filepath.Join(dir, "control-plane.log"), MaxSize: 20, MaxBackups: 2}
	// An empty write opens the file, so that a log that cannot be written is known now.
	if _, err := file.Write(nil); err != nil {
		return nil, nil, unusableDir(dir, err)
	}
	return file, func() { file.Close() }, nil
}

// logKubernetes sends klog, and with it every Kubernetes component in this process, to w.
func logKubernetes(w io.Writer, verbosity int) {
	w = fatalListener{w}
	level := klog.Level(0)
	// Set only fails on text that is no number.
	_ = level.Set(strconv.Itoa(verbosity))
	config := textlogger.NewConfig(textlogger.Output(w), textlogger.Verbosity(verbosity))
	logger := textlogger.NewLogger(config)
	// Unstructured lines keep klog's own header, which alone tells fatal ones from others.
	buffers := logger.GetSink().(textlogger.KlogBufferWriter)
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true), klog.WriteKlogBuffer(buffers.WriteKlogBuffer))
}

// stopLogging takes the log away from klog before its writer is closed. What upstream goroutines still say as they end
// is of no interest.
func stopLogging() {
	klog.SetLoggerWithOptions(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.Discard))), klog.ContextualLogger(true))
}

// logEtcd gives etcd's logger. Etcd ends the process when it cannot go on, say on a full disk; onDeath is told instead,
// with the message, and only the goroutine ends, so that the rest can be stopped in order.
func logEtcd(w io.Writer, onDeath func(message string)) *zap.Logger {
	core := zapcore.NewCore(lineEncoder(), zapcore.Lock(zapcore.AddSync(w)), zapcore.WarnLevel)
	die := deathHook(onDeath)
	return zap.New(core, zap.WithFatalHook(die), zap.WithPanicHook(die)).Named("etcd")
}

type deathHook func(message string)

// OnWrite implements zapcore.CheckWriteHook.
func (h deathHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	message := entry.Message
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			message += ": " + err.Error()
		}
	}
	h(message)
	zapcore.WriteThenGoexit.OnWrite(entry, fields)
}
