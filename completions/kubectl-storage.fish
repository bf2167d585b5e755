# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kubectl_storage_global_optspecs
    string join \n kubeconfig= context= cluster= user= as= as-group= as-uid= s/server= token= certificate-authority= client-certificate= client-key= insecure-skip-tls-verify tls-server-name= disable-compression request-timeout= chunk-size= h/help
end

function __fish_kubectl_storage_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kubectl_storage_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kubectl_storage_using_subcommand
    set -l cmd (__fish_kubectl_storage_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "audit" -d 'Report what is wrong with volumes, claims, StatefulSets and VolumeAttachments; read-only'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "watch" -d 'Report what is wrong continuously, by a policy file; for a process in the cluster'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "gc" -d 'Reclaim Released volumes: their controllers delete the backend volumes'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "fix-finalizers" -d 'Repair volumes, claims and VolumeAttachments whose deletion finalizers block'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "retain" -d 'Set the reclaim policy to Retain, to stop deletion of the backend volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "delete" -d 'Delete claims that nothing uses, after the decision about their data'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "rebind" -d 'Give a Released volume back to a claim, with its data'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "retention" -d 'Show what retention policies do to the claims of StatefulSets'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "disown" -d 'Remove owner references of claims whose owner does not exist, so that they are not deleted'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "guard" -d 'Have the API server refuse deletes that lose data: admission policies, no webhook'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "apply" -d 'Carry out a plan that was saved with --plan-out'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "destroy-orphan" -d 'Have a driver delete a backend volume that no PersistentVolume references'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "undo" -d 'Revert what an entry of the journal changed, where Kubernetes allows it'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "journal" -d 'List the changes made from this machine, and their outcomes'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "dump" -d 'Save everything that an audit reads to a file, for offline work'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "explain" -d 'Explain a finding, or the state of an object and the effects of its deletion'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "rbac" -d 'Print the smallest ClusterRole for a command, or check your permissions'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "version" -d 'Print the version'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "completion" -d 'Print a completion script, or let kubectl complete the plugin'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s f -l filename -d 'Read a saved dump of whole lists (without -l or --field-selector) instead of a cluster: a file, a folder or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l save -d 'Save exactly what this audit reads, for `audit -f`' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s n -l namespace -d 'Report only claims of this namespace, and volumes whose claim is or was there' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s l -l selector -d 'Report only objects with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l rule -d 'Report only these findings; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l ignore -d 'Leave out these findings; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l older-than -d 'Report volumes that have been Released for at least this long [default: 7d]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l threshold -d 'Change a threshold, such as stuck=2h; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l driver-absent -d 'Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l record-namespace -d 'Find the record of kept backend volumes in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l fail-on -d 'Exit with code 3 if there is a finding of this severity or worse; with --watch as soon as there is' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s o -l output -d 'Print in this format: table, wide, json, yaml, name, jsonpath=…, custom-columns=…' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l sort-by -d 'Sort findings by a JSONPath expression, such as .age.seconds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s w -l watch -d 'Go on after the report: print findings as they appear, change and clear'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s A -l all-namespaces -d 'Report on the whole cluster, which is the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l no-headers -d 'Omit headers'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s v -l verbose -d 'Also print how many objects of each kind were read'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -s f -l filename -d 'Watch by this policy file, which is read again when it changes; - reads stdin, once' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -s o -l output -d 'Also print findings on stdout as they appear, change and clear: json, one object a line' -r -f -a "json\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l log-format -d 'Log in this format' -r -f -a "text\t'Time, level, message and fields'
json\t'One object a line'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l check -d 'Validate the policy, look once, and print what would be reported now, and where'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -f -a "print" -d 'Print the objects with which it runs in a cluster, as YAML for kubectl apply'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -f -a "pause" -d 'Stop everything that acts, at once; findings are still reported'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -f -a "resume" -d 'Let it act again; until this is said once, nothing acts'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and not __fish_seen_subcommand_from print pause resume status" -f -a "status" -d 'Show whether it may act, who leads, and what was done last'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -s f -l filename -d 'Put this policy file into the ConfigMap; - reads stdin [default: Events of high and worse, metrics, leader election]' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -s n -l namespace -d 'Run in this namespace, which is created, and restricted to pods of the restricted pod security standard' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l image -d 'Run this image' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l replicas -d 'Run this many pods, of which one reports [default: 2; 1 if the policy has no leaderElection]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l act -d 'Also print the roles with which these reconcilers act, whether the policy lets them or not yet' -r -f -a "rescue\t''
retention\t''
finalizers\t''
reclaim\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l monitoring -d 'Also print a ServiceMonitor and a PrometheusRule, of which the Prometheus operator must be installed'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from print" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -s n -l namespace -d 'Look in this namespace: clusterJournal of the policy, or else that in which watch runs [default: kubectl-storage]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -s f -l filename -d 'Look where this policy has its records; then -n is the namespace in which watch runs [default: that of the context]' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l reason -d 'Record why, for those who ask with `watch status`' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -s n -l namespace -d 'Look in this namespace: clusterJournal of the policy, or else that in which watch runs [default: kubectl-storage]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -s f -l filename -d 'Look where this policy has its records; then -n is the namespace in which watch runs [default: that of the context]' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l reason -d 'Record why, for those who ask with `watch status`' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -s n -l namespace -d 'Look in this namespace: clusterJournal of the policy, or else that in which watch runs [default: kubectl-storage]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -s f -l filename -d 'Look where this policy has its records; then -n is the namespace in which watch runs [default: that of the context]' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l cluster-journal -d 'Look at the journal in this namespace [default: that of watch, or kubectl-storage-journal, or the only one that holds one]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand watch; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l older-than -d 'Reclaim volumes that have been Released for at least this long, such as 7d' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l announce -d 'Reclaim nothing, but announce that it may be reclaimed after this long, such as 72h' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s n -l namespace -d 'Reclaim only volumes whose claim was in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s l -l selector -d 'Reclaim only volumes with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l storage-class -d 'Reclaim only volumes of this StorageClass' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l driver -d 'Reclaim only volumes of this driver' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l record-namespace -d 'Find the record of kept backend volumes in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l provisioner-alive -d 'Assert that the provisioner of a driver is running although nothing shows it; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l backend-exclusive -d 'Assert that nothing else uses the storage of this volume (pv/NAME) or of all volumes of this driver; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l threshold -d 'Change a threshold, such as delete-wait=10m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l announced -d 'Reclaim only what was announced, whose grace period is over, and that is still the same'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-vetoed -d 'Announce volumes again although their announcement was vetoed'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s A -l all-namespaces -d 'Reclaim volumes of the whole cluster, which is the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l keep-backend -d 'Delete only the PersistentVolume; keep the backend volume and record it'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l journal-only -d 'Record kept backend volumes only in the journal of this machine'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-unknown-age -d 'Also reclaim volumes without a trustworthy time of release'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-recreated -d 'Also reclaim volumes whose claim was deleted and recreated'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l backend-verified -d 'Assert that the backend volume is intact although its deletion was stopped'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-wanted -d 'Also reclaim volumes whose claim does not exist but is referenced by a workload or a custom resource'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l no-other-users -d 'Assert that no custom resource uses the claim: some could not be listed, or name it elsewhere'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l destroy-snapshots -d 'Allow destruction of snapshots that are, or may be, destroyed with their volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l destroy-data -d 'Destroy the data of a named volume that is Available but was used before'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s w -l watch -d 'Go on: announce volumes as soon as they are old enough, and reclaim them when their grace period is over'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s n -l namespace -d 'Repair only claims of this namespace, and volumes whose claim was there; for named claims, their namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s l -l selector -d 'Repair only objects with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l driver-absent -d 'Assert that a driver, or kube-controller-manager, is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l backend-exclusive -d 'Assert that nothing else uses the storage of this volume (pv/NAME) or of all volumes of this driver; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l remove-finalizer -d 'Remove this third-party finalizer from the one object that you name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l from -d 'Recreate the volume that a named VolumeAttachment references, from the manifest in this file; - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l secret -d 'Name the Secret with which the driver deletes the volume, where it is unknown' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l record-namespace -d 'Find the record of kept backend volumes in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l threshold -d 'Change a threshold, such as finalizer=1h; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s A -l all-namespaces -d 'Repair objects of the whole cluster, which is the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l rolled-back -d 'Assert that `HonorPVReclaimPolicy` is off in kube-controller-manager'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l accept-leak -d 'If a removal leaks the backend volume, accept and record that'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l reclaim -d 'If a removal would leak the backend volume, have its driver delete it afterwards'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l destroy-snapshots -d 'Allow destruction of snapshots that are, or may be, destroyed with their volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l keep-data -d 'Before removing a claim\'s last finalizer, set its volume to Retain'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l destroy-data -d 'Allow deletion of a claim although its volume\'s policy destroys the data'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l no-secret -d 'Assert that the driver needs no Secret to delete a volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l journal-only -d 'Record kept backend volumes only in the journal of this machine'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s w -l watch -d 'Go on: repair what needs no flag as soon as it is found, except where that destroys data'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s n -l namespace -d 'Find the claims in this namespace [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s n -l namespace -d 'Delete claims or StatefulSets of this namespace [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s l -l selector -d 'Delete only claims with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l cascade -d 'Delete the dependents of a StatefulSet in this way, as kubectl does' -r -f -a "background\t'Pods and claims are deleted after the StatefulSet'
foreground\t'The StatefulSet is deleted after its pods and claims'
orphan\t'Pods and claims are not deleted'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l provisioner-alive -d 'Assert that a provisioner, or kube-controller-manager, is running although nothing shows it; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l snapshot-class -d 'Take it with this VolumeSnapshotClass [default: the default class of the driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l backend-exclusive -d 'Assert that nothing else uses the storage of this volume (pv/NAME) or of all volumes of this driver; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l threshold -d 'Change a threshold, such as delete-wait=10m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l all -d 'Delete all claims of the namespace that nothing uses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l keep-data -d 'Set the volume of a claim to Retain first: it becomes Released with its data'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l destroy-data -d 'Have the controller of the volume destroy the data, as the policy Delete says'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l delete-leftovers -d 'Also delete a named claim that its StatefulSet retains beyond its replicas'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l no-other-users -d 'Assert that nothing else uses the claims: neither custom resources that cannot be listed, nor software whose labels they have'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l snapshot-first -d 'Take a VolumeSnapshot of each claim first, and go on only once it is ready to use'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l destroy-snapshots -d 'Allow destruction of snapshots that are, or may be, destroyed with their volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l to -d 'Give it to this claim, which is created if it does not exist [default: the claim that it was bound to]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -s n -l namespace -d 'Find the claim of --to in this namespace [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l from -d 'Recreate the volume, which a Lost claim references, from the manifest in this file; - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l backend-verified -d 'Assert that a backend volume whose deletion was stopped, or failed, is intact'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rebind" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s f -l filename -d 'Read a saved dump of whole lists (without -l or --field-selector) instead of a cluster: a file, a folder or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s n -l namespace -d 'Show StatefulSets of this namespace [default: that of the context; all of a dump]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s l -l selector -d 'Show only StatefulSets with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l threshold -d 'Change a threshold, such as protection=1m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l driver-absent -d 'Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s o -l output -d 'Print in this format: table, wide, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s A -l all-namespaces -d 'Show StatefulSets of all namespaces'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l no-headers -d 'Omit headers'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -a "show" -d 'Show the claims of StatefulSets: who owns them, who should, and what would delete them; the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -a "simulate" -d 'Foretell what a change of a StatefulSet, or its deletion, does to each of its claims'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -a "set" -d 'Change the retention policy of StatefulSets, so that their claims are what it says'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and not __fish_seen_subcommand_from show simulate set apply" -a "apply" -d 'Have claims follow the retention policies of their StatefulSets: remove owner references that contradict these'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s f -l filename -d 'Read a saved dump of whole lists (without -l or --field-selector) instead of a cluster: a file, a folder or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s n -l namespace -d 'Show StatefulSets of this namespace [default: that of the context; all of a dump]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s l -l selector -d 'Show only StatefulSets with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l threshold -d 'Change a threshold, such as protection=1m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l driver-absent -d 'Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s o -l output -d 'Print in this format: table, wide, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s A -l all-namespaces -d 'Show StatefulSets of all namespaces'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l no-headers -d 'Omit headers'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -s f -l filename -d 'Apply this manifest of a StatefulSet: a file or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l replicas -d 'Scale to this number of replicas' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l when-deleted -d 'Set whenDeleted to Retain or Delete' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l when-scaled -d 'Set whenScaled to Retain or Delete' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l cascade -d 'Delete it in this way' -r -f -a "background\t'Dependents are deleted after the StatefulSet'
foreground\t'The StatefulSet is deleted after its dependents'
orphan\t'Dependents are not deleted'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -s n -l namespace -d 'Find the StatefulSets in this namespace [default: that of the manifest or of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l dump -d 'Read a saved dump instead of a cluster; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l threshold -d 'Change a threshold, such as protection=1m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l driver-absent -d 'Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l delete -d 'Delete the StatefulSet, after the other changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l fail-if-destroyed -d 'Exit with code 3 if the data of a claim would be destroyed, or may be'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l no-headers -d 'Omit headers'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from simulate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l when-deleted -d 'Set whenDeleted to Retain or Delete' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l when-scaled -d 'Set whenScaled to Retain or Delete' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -s n -l namespace -d 'Find the StatefulSets in this namespace [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l destroy-data -d 'Set whenScaled to Delete although a scale-down in progress, or an autoscaler, deletes claims with their data then'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s n -l namespace -d 'Apply the policies of StatefulSets of this namespace [default: that of the context; all of a dump]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s l -l selector -d 'Apply only the policies of StatefulSets with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l older-than -d 'Delete claims that have been out of range for at least this long, such as 7d' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l provisioner-alive -d 'Assert that a provisioner, or kube-controller-manager, is running although nothing shows it; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l backend-exclusive -d 'Assert that nothing else uses the storage of this volume (pv/NAME) or of all volumes of this driver; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l threshold -d 'Change a threshold, such as delete-wait=10m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s A -l all-namespaces -d 'Apply the policies of StatefulSets of all namespaces'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l add-owners -d 'Also add the owner references that whenDeleted Delete requires to claims without a pod, which are then deleted with their StatefulSet'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l delete-leftovers -d 'Also delete claims that scale-downs left, where whenScaled is Delete'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l include-unknown-age -d 'Also delete claims of which it is unknown since when they have been out of range'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l replicas-zero -d 'Also delete claims of StatefulSets that have 0 replicas, or that are scaled automatically'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l keep-data -d 'Set the volume of a claim to Retain first: it becomes Released with its data'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l destroy-data -d 'Have the controller of the volume destroy the data, as the policy Delete says'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l no-other-users -d 'Assert that nothing else uses the claims: neither custom resources that cannot be listed, nor software whose labels they have'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l destroy-snapshots -d 'Allow destruction of snapshots that are, or may be, destroyed with their volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s w -l watch -d 'Go on: remove owner references as soon as they contradict a policy'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retention; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -s n -l namespace -d 'Find the claims in this namespace [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -s f -l filename -d 'Plan for a saved dump, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l owner-kind-gone -d 'Also remove references to owners of kinds that the server serves in no version any more, whether the owners exist or not'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand disown" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -f -a "install" -d 'Install the guard, repair it, or change its options, after showing what is written'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -f -a "status" -d 'Prove that the guard is in force by dry runs, and list what it does not stop'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -f -a "diff" -d 'Show how the guard in the cluster differs from the one installed; exit with 1 if it does'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -f -a "print" -d 'Print the policies and bindings as YAML, for deployment by other tools'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and not __fish_seen_subcommand_from install status diff print uninstall" -f -a "uninstall" -d 'Remove the guard, after showing what is deleted'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l volumes -d 'Refuse, or only warn, in the rules about volumes and VolumeAttachments, which no namespace limits [default: warn]' -r -f -a "deny\t'Refuse'
warn\t'Carry out the request, and print a warning'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l deny-account -d 'Also guard against this service account, such as that of a pipeline; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l pass-user -d 'Let this user pass: a controller of a managed control plane whose name does not begin with system:; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l break-glass-group -d 'Let this group pass, for --as-group in an emergency [default: storage.kubectl.dev:break-glass]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l dry-run -d 'Show what is written and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l reset -d 'Begin with the defaults instead of the options that are installed'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -s y -l yes -d 'Skip the confirmation prompt'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l volumes -d 'Refuse, or only warn, in the rules about volumes and VolumeAttachments, which no namespace limits [default: warn]' -r -f -a "deny\t'Refuse'
warn\t'Carry out the request, and print a warning'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l deny-account -d 'Also guard against this service account, such as that of a pipeline; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l pass-user -d 'Let this user pass: a controller of a managed control plane whose name does not begin with system:; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l break-glass-group -d 'Let this group pass, for --as-group in an emergency [default: storage.kubectl.dev:break-glass]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l volumes -d 'Refuse, or only warn, in the rules about volumes and VolumeAttachments, which no namespace limits [default: warn]' -r -f -a "deny\t'Refuse'
warn\t'Carry out the request, and print a warning'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l deny-account -d 'Also guard against this service account, such as that of a pipeline; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l pass-user -d 'Let this user pass: a controller of a managed control plane whose name does not begin with system:; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l break-glass-group -d 'Let this group pass, for --as-group in an emergency [default: storage.kubectl.dev:break-glass]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from print" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l dry-run -d 'Show what is written and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -s y -l yes -d 'Skip the confirmation prompt'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand guard; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l max-plan-age -d 'Refuse a plan that is older than this' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l driver -d 'Delete a backend volume of this CSI driver' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l handle -d 'Delete the backend volume with this volume handle' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l from-journal -d 'Delete the backend volume that this entry of the journal kept' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l secret -d 'Name the Secret with which the driver deletes the volume, where it is unknown' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l backend-exclusive -d 'Assert that no other cluster uses the storage of this driver'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l destroy-snapshots -d 'Allow destruction of snapshots that are, or may be, destroyed with their volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l include-wanted -d 'Include a backend volume whose former claim a workload or a custom resource names'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l no-other-users -d 'Assert that no custom resource uses the claim: some could not be listed, or name it elsewhere'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l no-secret -d 'Assert that the driver needs no Secret to delete a volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l dry-run -d 'Show the plan and change nothing; `server` also sends each request with dryRun=All' -r -f -a "none\t'Make the changes'
client\t'Plan, and send no change'
server\t'Send each request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l plan-out -d 'Save the plan for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l max -d 'Refuse the whole plan if it changes more than this many objects' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l max-percent -d 'Refuse the whole plan if it changes more than this share of all volumes' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver, 8 of owner references]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l wait -d 'Wait until the effect of each change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l timeout -d 'Wait this long for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l field-manager -d 'Record the changes in managedFields under this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s o -l output -d 'Print in this format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s y -l yes -d 'Skip the confirmation prompt; does not replace flags such as --accept-leak'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l no-events -d 'Write no Events about the changes'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -s o -l output -d 'Print in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l open -d 'Show only entries whose outcome is unknown'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l all -d 'Show the journals of all clusters that this machine has, without connecting to any'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l record-namespace -d 'Find the record of kept backend volumes in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s n -l namespace -d 'Find the object in this namespace [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s f -l filename -d 'Read a saved dump of whole lists (without -l or --field-selector) instead of a cluster: a file, a folder or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l taken-at -d 'Set the time at which the dump was taken, if the dump lacks it' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l complete -d 'Assert that the dump contains every object of these kinds, or of `all` kinds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l older-than -d 'Report volumes that have been Released for at least this long [default: 7d]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l threshold -d 'Change a threshold, such as stuck=2h; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l driver-absent -d 'Assert that a driver is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l record-namespace -d 'Find the record of kept backend volumes in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s o -l output -d 'Print the explanation of an object in this format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -s f -l filename -d 'With `watch`: also what this policy needs where it reports and acts; - reads stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l act -d 'With `watch`: also what these reconcilers need to act, each in roles of its own' -r -f -a "rescue\t''
retention\t''
finalizers\t''
reclaim\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l secret -d 'Also grant reading this Secret, with which a driver deletes volumes: the command checks that it exists; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l record-namespace -d 'Grant what concerns records in this namespace instead of kube-system: that of kept backend volumes, and announcements' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l cluster-journal -d 'Use the journal in this namespace of the cluster, not the file on this machine [default: kubectl-storage-journal]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -s n -l namespace -d 'With `watch-pause`, `watch-resume` and `watch-status`: the namespace in which watch runs [default: kubectl-storage]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l check -d 'List the permissions that you lack, instead of printing the ClusterRole'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -s o -l output -d 'Print in this format: json or yaml' -r -f -a "json\t''
yaml\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l kubeconfig -d 'Use this kubeconfig file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l context -d 'Use this context of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l cluster -d 'Use this cluster of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l user -d 'Use this user of the kubeconfig' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l as -d 'Impersonate this user' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l as-group -d 'Impersonate this group; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l as-uid -d 'Impersonate this UID' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -s s -l server -d 'Connect to the API server at this address' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l token -d 'Authenticate with this bearer token' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l certificate-authority -d 'Trust the certificate authority in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l client-certificate -d 'Authenticate with the client certificate in this file' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l client-key -d 'Use the private key in this file for the client certificate' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l tls-server-name -d 'Verify the server\'s certificate against this name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l request-timeout -d 'Wait this long for one request: seconds or a duration; 0 means without limit' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l chunk-size -d 'Request lists in pages of this many objects; 0 requests each list whole' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l insecure-skip-tls-verify -d 'Skip verification of the server\'s certificate, which makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l disable-compression -d 'Request uncompressed responses'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
