// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"bytes"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gopkg.in/natefinch/lumberjack.v2"
	_ "k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/carillon-dev/carillon/internal/privatedir"
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

// logSink is where everything in this process logs to, for as long as it is open. Upstream goroutines may log after the
// end of a life; that is dropped, so that no file comes back after its directory was removed.
// It keeps the last line of klog's level "fatal", which begins with an F.
type logSink struct {
	mu   sync.Mutex
	out  io.Writer
	file io.Closer
}

// openLog opens the sink over the caller's writer, or else over a file that is rotated at 20 MB with two older ones
// kept.
func openLog(o Options) (*logSink, error) {
	if o.Log != nil {
		return &logSink{out: o.Log}, nil
	}
	dir, err := privatedir.Make(filepath.Dir(o.LogFile))
	if err != nil {
		return nil, unusableDir(filepath.Dir(o.LogFile), err)
	}
	defer dir.Close()
	// The logger opens files by name and follows links. Nobody else can put one into the directory, and one that is
	// there already is refused here.
	first, err := dir.OpenFile(filepath.Base(o.LogFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, unusableDir(dir.Path(), err)
	}
	first.Close()
	file := &lumberjack.Logger{Filename: o.LogFile, MaxSize: 20, MaxBackups: 2}
	// An empty write opens the file, so that a log that cannot be written is known now.
	if _, err := file.Write(nil); err != nil {
		return nil, unusableDir(filepath.Dir(o.LogFile), err)
	}
	return &logSink{out: file, file: file}, nil
}

// Write implements io.Writer. It never fails: a full disk must not make the logging parts fail too.
func (l *logSink) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte("F")) {
		text := line
		if _, after, ok := bytes.Cut(text, []byte("] ")); ok {
			text = after
		}
		text, _, _ = bytes.Cut(text, []byte("\n"))
		lives.Lock()
		lives.words = string(text)
		lives.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out != nil {
		// There is nowhere to report it to.
		_, _ = l.out.Write(line)
	}
	return len(line), nil
}

// close drops what is written from now on.
func (l *logSink) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = nil
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// logKubernetes makes a logger over w and sends klog there, and with it every Kubernetes component in this process.
func logKubernetes(w io.Writer, verbosity int) logr.Logger {
	level := klog.Level(0)
	// Set only fails on text that is no number.
	_ = level.Set(strconv.Itoa(verbosity))
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w), textlogger.Verbosity(verbosity)))
	// Unstructured lines keep klog's own header, which alone tells fatal ones from others.
	buffers := logger.GetSink().(textlogger.KlogBufferWriter)
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true), klog.WriteKlogBuffer(buffers.WriteKlogBuffer))
	// The servers of net/http complain through package log.
	log.SetFlags(0)
	log.SetOutput(klogWriter{})
	return logger
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
