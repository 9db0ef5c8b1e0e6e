# Tells what a container sees: a name, a tab and a value in each line. It is run by busybox, in the image of the table.
row() { printf '%s\t%s\n' "$1" "$2"; }
first() { head -c 1 "$1" 2>/dev/null | wc -c; }
tries() { name=$1; shift; if "$@" >/dev/null 2>&1; then row "$name" allowed; else row "$name" refused; fi; }

row "id" "$(id -u):$(id -g) $(id -G)"
row "working directory" "$(pwd)"
row "umask" "$(umask)"
row "hostname" "$(hostname)"
row "process number" "$$"
row "process 1" "$(cat /proc/1/comm)"
tr '\0' '\n' < /proc/$$/environ | while IFS= read -r line; do row "env ${line%%=*}" "${line#*=}"; done
while IFS= read -r line; do
  case $line in
  Uid:* | Gid:* | Groups:* | CapInh:* | CapPrm:* | CapEff:* | CapBnd:* | CapAmb:* | NoNewPrivs:* | Seccomp:* | SigBlk:* | SigIgn:* | Cpus_allowed_list:*)
    row "status ${line%%:*}" "$(echo ${line#*:})" ;;
  esac
done < /proc/$$/status
row "oom_score_adj" "$(cat /proc/$$/oom_score_adj)"
row "user namespace's users" "$(echo $(cat /proc/$$/uid_map))"
row "cgroup" "$(cut -d: -f3 /proc/$$/cgroup | sort -u | tr '\n' ' ')"
tail -n +2 /proc/$$/limits | while IFS= read -r line; do
  row "limit $(echo ${line%%  *})" "$(echo ${line#*  } | cut -d' ' -f1,2)"
done
for ns in /proc/$$/ns/*; do row "namespace ${ns##*/}" "$(readlink $ns)"; done
for fd in 0 1 2; do row "file $fd" "$(readlink /proc/$$/fd/$fd)"; done
[ "$1" = all ] || exit 0

while IFS= read -r line; do row "mountinfo" "$line"; done < /proc/$$/mountinfo
for file in /dev/* /dev/pts/* /dev/shm; do
  if [ -L "$file" ]; then row "file $file" "-> $(readlink $file)"; elif [ -e "$file" ]; then
    row "file $file" "$(stat -c '%F %a %u:%g %t:%T' "$file")"
  fi
done
for file in hosts resolv.conf hostname mtab passwd group; do
  if [ -e /etc/$file ]; then row "file /etc/$file" "$(sha256sum < /etc/$file | cut -d' ' -f1) $(stat -c '%a %u:%g' /etc/$file)"; else row "file /etc/$file" "none"; fi
done
for file in / /proc /sys /tmp; do row "directory $file" "$(stat -c '%a %u:%g' $file)"; done
for file in kcore keys timer_list sched_debug latency_stats scsi acpi asound interrupts sysrq-trigger kmsg; do
  if [ -d /proc/$file ]; then row "read /proc/$file" "$(ls /proc/$file | wc -l) entries"; elif [ -e /proc/$file ]; then
    case $file in kcore | kmsg | sysrq-trigger) row "read /proc/$file" "$(stat -c '%F %a %t:%T' /proc/$file)" ;; *) row "read /proc/$file" "$(first /proc/$file) bytes" ;; esac
  fi
done
row "read /sys/firmware" "$(ls /sys/firmware | wc -l) entries"
row "cgroup directories" "$(ls /sys/fs/cgroup | wc -l)"
tries "write /" touch /new
tries "write /proc/sys" sh -c 'cat /proc/sys/kernel/domainname > /proc/sys/kernel/domainname'
tries "write /sys" sh -c ': >> /sys/kernel/mm/transparent_hugepage/enabled'
tries "make a cgroup" sh -c 'cd /sys/fs/cgroup; cd memory 2>/dev/null; mkdir new && rmdir new'
tries "mount a tmpfs" mount -t tmpfs none /mnt
tries "make a user namespace" unshare -U true
tries "make a mount namespace" unshare -m true
tries "give a file away" chown 5:6 /new
tries "become another user" su -s /bin/sh app -c true
tries "make a device" mknod /device c 1 3
tries "open a device that was made" dd if=/device of=/dev/null count=1
tries "set the hostname" hostname "$(hostname)"
tries "lower the niceness" nice -n -5 true
tries "raise a limit" sh -c 'ulimit -Hn 2000000'
tries "read the kernel's log" dmesg
tries "change the root" chroot / true
